import { connect } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { describeRuntime } from './describe.ts'
import { workerdFiles } from './inside/files/workerd.ts'
import { programOf } from './programs.ts'
import { startWorkerd, type Workerd } from './run.ts'

const HEADERS = { 'Idempotency-Key': 'k', 'Content-Type': 'text/plain' }

const program = await programOf('workerd')
const isThere = 'path' in program
let workerd: Workerd | undefined
afterAll(() => workerd?.stop())

describeRuntime({
  ...{ name: 'workerd', program, files: workerdFiles },
  async run(path, job) {
    workerd = await startWorkerd(path)
    return workerd.run(job)
  },
})

describe.skipIf(!isThere)('workerd', () => {
  it.each(['cutFetch', 'cutHono'])('goes on when the client goes away: %s', async (name) => {
    const port = workerd?.ports[name] ?? 0
    const begun = async () => {
      const { begun } = await (await fetch(`http://127.0.0.1:${port}/`)).json()
      return Number(begun)
    }
    const before = await begun()
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => {})
    const head = [
      ...['POST / HTTP/1.1', 'Host: 127.0.0.1', 'Content-Length: 1'],
      ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n1`)
    await expect.poll(begun).toBe(before + 1)
    socket.resetAndDestroy()

    const ask = async () => {
      const init = { method: 'POST', headers: HEADERS, body: '1' }
      const response = await fetch(`http://127.0.0.1:${port}/`, init)
      return [response.status, response.headers.get('Idempotent-Replayed')]
    }
    await expect.poll(ask, { timeout: 10_000 }).toEqual([201, 'true'])
    expect(await begun()).toBe(before + 1)
  })
})
