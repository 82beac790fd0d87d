/**
 * Histories: lists of commands as data, so that a failing one can be made smaller and be read.
 *
 * @module
 */

import fc from 'fast-check'
import type { RecordStatus, Resource } from '../../src/core/record.ts'
import type { ReleaseMode } from '../../src/engine/store.ts'

/** A verb of a lease's holder. `pick` counts back from the newest claim: more than 0 is a zombie. */
interface HolderCommand {
  readonly pick: number
  /** Whether the claim is forged: under the next fence, which was not granted to it. */
  readonly forged: boolean
  /** Through the store or through its peer. */
  readonly process: number
  /** Whether the reply is lost and the verb sent again. */
  readonly twice: boolean
}

export interface ClaimCommand {
  readonly kind: 'claim'
  /** The run that claims: it keeps its owner token until it crashes. */
  readonly process: number
  readonly identity: number
  readonly fingerprint: number
  /** Whether the other fingerprint is accepted too. */
  readonly rotated: boolean
  readonly takesUnknown: boolean
  readonly recoveryPoint: string | null
  readonly input: string | null
  readonly leaseTicks: number
  readonly retentionTicks: number
  readonly twice: boolean
}

export type Command =
  | ClaimCommand
  | (HolderCommand & { readonly kind: 'renew'; readonly leaseTicks: number })
  | (HolderCommand & {
      readonly kind: 'advance'
      readonly recoveryPoint: string | null
      readonly state: string | null
      readonly leaseTicks: number
    })
  | (HolderCommand & {
      readonly kind: 'finish'
      readonly status: number
      readonly sealed: string
      readonly resource: Resource | null
      readonly retentionTicks: number
    })
  | (HolderCommand & { readonly kind: 'release'; readonly mode: ReleaseMode })
  | { readonly kind: 'tick'; readonly ticks: number }
  | { readonly kind: 'crash'; readonly process: number }
  | { readonly kind: 'find'; readonly identity: number }
  | { readonly kind: 'list'; readonly status: RecordStatus | null; readonly limit: number }
  | { readonly kind: 'sweep' }
  | { readonly kind: 'stats' }

export type History = readonly Command[]

/** How many runs at a time and identities a history has. */
const PROCESSES = 3
export const IDENTITIES = 2

const process = fc.nat(PROCESSES - 1)
/** Mostly the first, so that something becomes of it. */
const identity = fc.nat(3).map((number) => (number === 3 ? 1 : 0))
const recoveryPoint = fc.constantFrom(null, 'started', 'charged')
const payload = fc.constantFrom(null, '', 'ab', '\u0000\u00ff')
const ticks = (max: number) => fc.integer({ min: 1, max })
const seldom = fc.nat(4).map((number) => number === 4)
const holder = {
  pick: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(4) }),
  forged: fc.nat(9).map((number) => number === 9),
  process,
  twice: seldom,
}

const claim: fc.Arbitrary<ClaimCommand> = fc.record({
  ...{ kind: fc.constant('claim'), process, identity, recoveryPoint, input: payload },
  ...{ fingerprint: seldom.map(Number), rotated: seldom, takesUnknown: fc.boolean() },
  ...{ leaseTicks: ticks(2), retentionTicks: ticks(9), twice: seldom },
})

const renew: fc.Arbitrary<Command> = fc.record({
  ...{ kind: fc.constant('renew'), ...holder, leaseTicks: ticks(5) },
})

const advance: fc.Arbitrary<Command> = fc.record({
  ...{ kind: fc.constant('advance'), ...holder, recoveryPoint },
  ...{ state: payload, leaseTicks: ticks(5) },
})

const finish: fc.Arbitrary<Command> = fc.record({
  ...{ kind: fc.constant('finish'), ...holder, status: fc.constantFrom(200, 201, 500) },
  sealed: fc.constantFrom('', 'one', 'two', '\u0000\u00ff'),
  resource: fc.constantFrom(null, { type: 'charge', id: 'ch_1' }),
  retentionTicks: ticks(4),
})

const release: fc.Arbitrary<Command> = fc.record({
  ...{ kind: fc.constant('release'), ...holder },
  mode: fc.constantFrom('suspend', 'suspend', 'forget'),
})

const list: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant('list'),
  status: fc.constantFrom(null, 'running', 'suspended', 'unknown', 'finished', 'expired'),
  limit: fc.integer({ min: 1, max: 3 }),
})

/** Commands that concern the records of the history alone. */
const own: readonly fc.WeightedArbitrary<Command>[] = [
  { weight: 12, arbitrary: claim },
  { weight: 2, arbitrary: renew },
  { weight: 4, arbitrary: advance },
  { weight: 5, arbitrary: finish },
  { weight: 4, arbitrary: release },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('tick'), ticks: ticks(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('tick'), ticks: fc.constant(9) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('crash'), process }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('find'), identity }) },
  { weight: 1, arbitrary: list },
]

/** Commands that concern the store as a whole. */
const whole: readonly fc.WeightedArbitrary<Command>[] = [
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('sweep') }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stats') }) },
]

/** A run dies, its lease may lapse, and the next one claims: what seldom comes about by chance. */
const succession: fc.Arbitrary<History> = fc
  .record({ claim, ticks: fc.nat(2), heir: claim, size: fc.nat(7) })
  .map(({ claim, ticks, heir, size }) => {
    // The smallest succession, for a shorter history, is nothing but a claim.
    if (size === 0) return [claim]
    return [
      claim,
      ...(ticks > 0 ? [{ kind: 'tick' as const, ticks }] : []),
      { kind: 'crash', process: heir.process },
      { ...heir, identity: claim.identity, fingerprint: claim.fingerprint },
    ]
  })

function historyOf(...commands: readonly fc.WeightedArbitrary<Command>[]): fc.Arbitrary<History> {
  const one = fc.oneof(...commands).map((command): History => [command])
  const move = fc.oneof({ weight: 7, arbitrary: one }, { weight: 1, arbitrary: succession })
  return fc.array(move, { maxLength: 18, size: 'max' }).map((moves) => moves.flat())
}

/** Histories, some of which need the store to themselves. */
export const histories: fc.Arbitrary<History> = fc.oneof(
  { weight: 4, arbitrary: historyOf(...own) },
  { weight: 1, arbitrary: historyOf(...own, ...whole) },
)

/** Whether the history has to run alone on its store. */
export function needsWholeStore(history: History): boolean {
  return history.some(({ kind }) => kind === 'sweep' || kind === 'stats')
}

/** The history for people, one command a line. */
export function describeHistory(history: History): string {
  return history
    .map(({ kind, ...details }, index) => {
      const words = Object.entries(details)
        .filter(([, value]) => value !== false)
        .map(([name, value]) => (value === true ? name : `${name} ${JSON.stringify(value)}`))
      return `${index + 1}. ${[kind, ...words].join(', ')}`
    })
    .join('\n')
}
