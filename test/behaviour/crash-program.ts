/**
 * Serves the API in a process of its own, which dies by SIGKILL at the point that it is told, or
 * waits there for a word; SIGTERM lets it finish first.
 */

import { type CrashSettings, crashApi, type Point } from './crash-api.ts'

export interface CrashTask extends CrashSettings {
  readonly point: Point
  readonly does: 'die' | 'wait'
  /** How long SIGTERM waits for running requests, in milliseconds. */
  readonly graceMs: number
}

export type CrashMessage = { readonly port: number } | 'inside' | 'closing' | 'closed'

const { point, does, graceMs, ...settings } = JSON.parse(process.argv[2] ?? '') as CrashTask

function tell(message: CrashMessage): void {
  process.send?.(message)
}

const { app, reprise, pool } = crashApi(settings, {
  async reach(here) {
    if (here !== point) return
    if (does === 'die') process.kill(process.pid, 'SIGKILL')
    const word = new Promise((resolve) => process.once('message', resolve))
    tell('inside')
    await word
  },
})

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) tell({ port: address.port })
})

async function stop(): Promise<void> {
  const closed = reprise.close({ graceMs })
  tell('closing')
  await closed
  tell('closed')
  server.close()
  await pool.end()
  process.disconnect?.()
}

process.on('SIGTERM', () => void stop())
