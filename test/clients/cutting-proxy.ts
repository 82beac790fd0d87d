import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A network between client and server that breaks when it is told to. */
export interface CuttingProxy {
  readonly port: number
  /** Swallows the next answer: the server has sent it, the client sees its connection break. */
  loseNextAnswer(): void
  /** Breaks every connection to clients now; the server does not notice. */
  cut(): void
}

export async function cuttingProxy(target: number): Promise<CuttingProxy> {
  const clients = new Set<Socket>()
  let isLosing = false
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    clients.add(client)
    client.on('close', () => clients.delete(client)).on('error', () => {})
    upstream.on('error', () => {}).on('end', () => client.end())
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk) => {
      if (isLosing) client.resetAndDestroy()
      else if (!client.destroyed) client.write(chunk)
      isLosing = false
    })
    onTestFinished(() => void upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const client of clients) client.resetAndDestroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  return {
    // A server that listens on a port has such an address.
    port: (server.address() as AddressInfo).port,
    cut,
    loseNextAnswer() {
      isLosing = true
    },
  }
}
