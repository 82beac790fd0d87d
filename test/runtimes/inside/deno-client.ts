/** What a client can do about Deno, whose `fetch` sends requests again by itself. */

import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createClient, OutcomeUnknownError } from '../../../src/client/index.ts'

/** As much of Deno as is needed here. */
declare const Deno: {
  createHttpClient(options: { readonly poolMaxIdlePerHost: number }): object
}

test('a request is sent once per attempt where no connection is used twice', async () => {
  let requests = 0
  let cutsNext = false
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      requests++
      if (cutsNext) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined

  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 })
  const send: typeof fetch = (input, init) => fetch(input, { ...init, ...{ client } })
  const careful = createClient({ baseUrl: `http://127.0.0.1:${port}`, fetch: send, attemptsMax: 1 })
  await careful.post('charges', { json: {} })
  cutsNext = true
  await expect(careful.post('charges', { json: {} })).rejects.toThrow(OutcomeUnknownError)
  expect(requests).toBe(2)
  server.close()
})
