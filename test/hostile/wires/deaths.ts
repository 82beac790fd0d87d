/** What would have ended the process, counted while a test looks. */
export interface Deaths {
  readonly errors: readonly unknown[]
  /** Gives the process back to whoever listened before. */
  restore(): void
}

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

/** Counts what nobody caught, in place of the test runner, until it is restored. */
export function countDeaths(): Deaths {
  const errors: unknown[] = []
  const note = (error: unknown) => void errors.push(error)
  const before = EVENTS.map((event) => {
    // The types name one event at a time.
    const listeners = process.rawListeners(event) as ((...values: unknown[]) => void)[]
    process.removeAllListeners(event)
    process.on(event, note)
    return { event, listeners }
  })
  return {
    errors,
    restore() {
      for (const { event, listeners } of before) {
        process.removeAllListeners(event)
        for (const listener of listeners) process.on(event, listener)
      }
    },
  }
}
