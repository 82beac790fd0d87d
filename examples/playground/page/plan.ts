/**
 * Which attempt meets which fault.
 *
 * @module
 */

/** What may be wrong on the way. */
export type Network = 'fine' | 'cut-before' | 'cut-after' | 'slow' | 'down'

/** What one attempt meets. */
export interface Step {
  /** Value of `Demo-Fault`; empty for none. */
  readonly fault: string
  /** Whether the payment provider is down meanwhile. */
  readonly isProviderDown: boolean
}

/** An attempt that nothing happens to. */
export const CLEAN: Step = { fault: '', isProviderDown: false }

const fault = (...names: readonly string[]): Step => ({
  fault: names.filter((name) => name !== '').join(','),
  isProviderDown: false,
})

const DOWN: Step = { fault: '', isProviderDown: true }

/**
 * What the attempts meet, in order; those after the last meet nothing. Both faults are seen to
 * happen: one that keeps the other from happening comes on an attempt of its own.
 *
 * @param crash - where the server is killed; empty for nowhere
 */
export function planOf(network: Network, crash: string): readonly Step[] {
  const killed = crash === '' ? [] : [fault(`crash=${crash}`)]
  switch (network) {
    case 'fine':
      return killed
    case 'cut-before':
      return [fault('cut-before'), ...killed]
    case 'cut-after':
      return [...killed, fault('cut-after')]
    case 'slow':
      return [fault('slow=3000', crash === '' ? '' : `crash=${crash}`)]
    case 'down':
      return [DOWN, ...killed]
  }
}
