/**
 * A server under load, as a process of its own. It tells its port, then its CPU time and memory
 * whenever it is asked, and ends with the process that started it.
 *
 * @module
 */

import { type Framework, LISTEN } from './frameworks.ts'
import { SETUPS, type ServerTask } from './setups.ts'

/** What a server says of itself. */
export interface Usage {
  /** User and system time of the process so far, in microseconds. */
  readonly cpuUs: number
  /** Resident memory, in bytes. */
  readonly rssBytes: number
  /** What its heap holds; after a collection where that can be asked for. */
  readonly heapBytes: number
}

// Written by the benchmark itself.
const task = JSON.parse(process.argv[2] ?? '{}') as ServerTask
const [framework = '', setup = ''] = task.variant.split('/')
const listen = LISTEN[framework as Framework]
const route = await SETUPS[setup]?.(task)
if (route === undefined) throw new Error(`There is no variant ${task.variant}.`)

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  const usage: Usage = { cpuUs: user + system, rssBytes: rss, heapBytes: heapUsed }
  process.send?.(usage)
})
process.on('disconnect', () => process.exit())
// A run that is interrupted ends its servers when their turn is over.
process.on('SIGINT', () => {})
process.send?.({ port: await listen(route) })
