/**
 * A load generator as a process of its own: what it times is not held up by what the benchmark does
 * meanwhile, such as opening a thousand sockets. It sends what it is told to, tells what came of it, and
 * ends with the process that started it.
 *
 * @module
 */

import { freshKey, type Load, type LoadResult, send } from '../load.ts'

/** What can be told to a sender: loads of requests with fresh keys, all sent at the same time. */
export type SenderTask = readonly Omit<Load, 'nextKey' | 'isOver'>[]

process.on('message', (loads: SenderTask) => {
  const sending = Promise.all(loads.map((load) => send({ ...load, nextKey: freshKey })))
  void sending.then((results: LoadResult[]) => process.send?.(results))
})
process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})
process.send?.('ready')
