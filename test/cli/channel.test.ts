import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { answerCalls } from '../../src/cli/dev/channel.ts'

const ASKS = `process.send({ number: 1, verb: 'wait', values: [] }); setInterval(() => {}, 1000)`

test('an answer to a process that was killed while it waited is dropped', async () => {
  const child = spawn(process.execPath, ['-e', ASKS], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const failures: unknown[] = []
  child.on('error', (error) => failures.push(error))
  await new Promise<void>((resolve) => {
    answerCalls(child, {
      async wait() {
        const gone = Promise.all([once(child, 'exit'), once(child, 'disconnect')])
        child.kill('SIGKILL')
        await gone
        // By then it was tried to send the answer, and whoever listens was told.
        setImmediate(() => setImmediate(resolve))
      },
    })
  })

  expect(failures).toEqual([])
})
