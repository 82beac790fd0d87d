/**
 * What ends with what. Workers and operator's views end with the engine that they were made of, dashboards with
 * their view, and the keepers of counters and duplicates with their store: so `reprise.close()` ends
 * all of them, and no app has to remember which of them it made.
 *
 * @module
 */

/** Ends something, within so many milliseconds if it can. Repeated calls come to the same. */
export type Close = (ms: number) => Promise<unknown>

const closables = new WeakMap<object, Close[]>()

/** Has `close` called when `owner` is closed. */
export function closeWith(owner: object, close: Close): void {
  const known = closables.get(owner)
  if (known === undefined) closables.set(owner, [close])
  else known.push(close)
}

/** Closes what was made of `owner`, the latest first. Never rejects: the others are closed as well. */
export async function closeAll(owner: object, ms: number): Promise<void> {
  const all = [...(closables.get(owner) ?? [])].reverse()
  closables.delete(owner)
  await Promise.allSettled(all.map(async (close) => close(ms)))
}
