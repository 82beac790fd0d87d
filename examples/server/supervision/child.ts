/**
 * The child's side of supervision: it lives as long as the supervisor, and no longer.
 *
 * @module
 */

import { once } from 'node:events'

/** How long a process may take to end, in milliseconds, before it is cut off. */
export const STOP_MS_MAX = 5000

/**
 * Ends this process when the supervisor lets go of it or dies, by whatever signal, after `close`.
 * Ctrl-C in a terminal reaches all processes at once; the supervisor alone decides who ends when.
 */
export function endWithParent(close: () => Promise<unknown>): void {
  const end = () => {
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref()
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGINT', () => {})
  process.once('SIGTERM', end)
  process.once('disconnect', end)
  if (process.send !== undefined && !process.connected) end()
}

/**
 * Resolves when the supervisor wants this process to serve, at once or when its turn has come, with
 * what it says. Does not look at that: both run the same program.
 */
export async function turnToServe<Order>(): Promise<Order> {
  if (!process.connected) process.exit()
  const cutOff = () => process.exit()
  process.once('disconnect', cutOff)
  process.on('SIGINT', () => {})
  const [message] = await once(process, 'message')
  process.off('disconnect', cutOff)
  return message.order
}

/** Tells the supervisor what keeps this process from serving, and ends. */
export function giveUp(error: unknown): void {
  const problem = error instanceof Error ? error.message : String(error)
  const end = () => process.exit(1)
  if (process.send === undefined || !process.connected) {
    console.error(problem)
    end()
  } else process.send({ problem }, end)
}
