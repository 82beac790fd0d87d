/**
 * A budget of retries for each origin: a server in trouble is not buried under them.
 *
 * @module
 */

/** The budgets of a client, by origin. */
export interface Budgets {
  /** Takes what a retry costs, and tells it; `undefined` when there is not enough left. */
  take(origin: string, isTimeout: boolean): number | undefined
  /** Gives back: after an answer what its last retry took, or one token. */
  give(origin: string, tokens: number): void
}

/**
 * Makes the budgets of a client.
 *
 * @param tokens - what an origin begins with, and has at most
 */
export function budgetsOf(tokens: number): Budgets {
  const left = new Map<string, number>()
  const give = (origin: string, more: number) =>
    left.set(origin, Math.min(tokens, (left.get(origin) ?? tokens) + more))
  return {
    take(origin, isTimeout) {
      const taken = isTimeout ? 10 : 5
      if ((left.get(origin) ?? tokens) < taken) return undefined
      give(origin, -taken)
      return taken
    },
    give,
  }
}
