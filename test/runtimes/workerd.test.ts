import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { notRun } from '../support/not-run.ts'
import { describeRuntime } from './describe.ts'
import { workerdFiles } from './inside/files/workerd.ts'
import { programOf } from './programs.ts'
import { startWorkerd, type Workerd } from './run.ts'

const HEADERS = { 'Idempotency-Key': 'k', 'Content-Type': 'text/plain' }

const program = await programOf('workerd')

if ('missing' in program) {
  notRun({ suite: 'test/runtimes/workerd.test.ts', reason: program.missing })
  describe.skip('inside workerd', () => {})
} else {
  const { path } = program
  let workerd: Workerd | undefined
  beforeAll(async () => {
    workerd = await startWorkerd(path)
  })
  afterAll(() => workerd?.stop())
  const started = () => {
    if (workerd === undefined) throw new Error('workerd starts before the first test.')
    return workerd
  }
  describeRuntime({ name: 'workerd', files: workerdFiles, run: (job) => started().run(job) })

  describe('workerd', () => {
    it.each(['cutFetch', 'cutHono'])('goes on when the client goes away: %s', async (name) => {
      const port = started().ports[name] ?? 0
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
}
