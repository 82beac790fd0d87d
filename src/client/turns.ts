/**
 * Turns: operations of one resource, one after the other.
 *
 * @module
 */

/** The last one in each queue, by name. */
export type Turns = Map<string, Promise<unknown>>

/** A place in a queue. */
export interface Turn {
  /** Resolves when everybody before is done; `undefined` when nobody is there. */
  readonly before: Promise<unknown> | undefined
  /** Lets the next one go on. */
  done(): void
}

/** Takes a place, at once: the order of calls is the order of turns. */
export function takeTurn(turns: Turns, name: string): Turn {
  const before = turns.get(name)
  let done = () => {}
  const mine = new Promise<void>((resolve) => {
    done = resolve
  })
  // Whoever is before me may take longer than I do.
  const both = Promise.all([before, mine]).then(() => {
    if (turns.get(name) === both) turns.delete(name)
  })
  turns.set(name, both)
  return { before, done }
}
