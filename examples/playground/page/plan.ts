/**
 * Which attempt meets which fault.
 *
 * @module
 */

/** What may be wrong on the way. */
export type Network = 'fine' | 'cut-before' | 'cut-after' | 'slow' | 'down'

/** What one attempt meets: the value of `Demo-Fault`; empty for nothing. */
export type Step = string

/** An attempt that nothing happens to. */
export const CLEAN: Step = ''

/** Points that come before the handler is slow. */
const BEFORE_SLOW: readonly string[] = ['after-claim', 'ride_created']

/** The point that is behind whoever has tried to call the provider. */
const BEFORE_CALL = 'after-claim'

/**
 * What the attempts meet, in order; those after the last meet nothing. All faults are seen to
 * happen: one that keeps the other from happening comes on an attempt of its own.
 *
 * @param crash - where the server is killed; empty for nowhere
 */
export function planOf(network: Network, crash: string): readonly Step[] {
  const killed = crash === '' ? [] : [`crash=${crash}`]
  switch (network) {
    case 'fine':
      return killed
    case 'cut-before':
      return ['cut-before', ...killed]
    case 'cut-after':
      return [...killed, 'cut-after']
    case 'slow':
      return BEFORE_SLOW.includes(crash)
        ? [...killed, 'slow=3000']
        : [['slow=3000', ...killed].join(',')]
    case 'down':
      return crash === BEFORE_CALL ? [...killed, 'provider-down'] : ['provider-down', ...killed]
  }
}

/** Whether everything that a step asks for is among what was carried out. */
export function isMet(step: Step, carriedOut: readonly string[]): boolean {
  return step === CLEAN || step.split(',').every((fault) => carriedOut.includes(fault))
}
