/**
 * One seed, one world: which parts it has, how they are set, and which faults happen how often. Every
 * seed leaves most of them out, so that those that remain meet in ways that they otherwise would not.
 *
 * @module
 */

import type { Quota } from '../../src/core/quota.ts'
import type { TransactionOptions } from '../../src/engine/transaction-handler.ts'
import { Chance } from '../engine/chance.ts'
import { drawFeatures, type Feature, SWITCHED_OFF } from './features.ts'
import { type Plan, planOf } from './plan.ts'

/** How often what goes wrong, as probabilities per exchange. */
export interface FaultRates {
  readonly latencyMs: number
  /** The connection breaks: before the database did what it was asked, or after. */
  readonly cut: number
  readonly slow: number
  /** Nothing comes back for long. */
  readonly lost: number
  readonly serialization: number
  /** Notifications that do not arrive. */
  readonly deafness: number
  readonly providerCut: number
  readonly providerSlow: number
  /** The provider answers 500, having done it or not. */
  readonly providerError: number
  /** The provider declines. */
  readonly providerDeclines: number
  /** A handler throws, or answers with an error. */
  readonly handler: number
  /** The answer does not reach the client. */
  readonly reply: number
  /** A sink fails. */
  readonly sink: number
  /** A call reaches the provider long after its process has heard that the connection broke. */
  readonly callLate: number
  /** A call is never answered. */
  readonly callHang: number
  /** A phase never ends. */
  readonly phaseHang: number
  /** The clock of the database is set while a statement arrives. */
  readonly clock: number
  /** An operator decides without a look. */
  readonly careless: number
}

/** How a request is run. */
export type Mode = 'lease' | 'transaction' | 'phases'

/** What happens from outside. */
export type ActKind =
  | 'send'
  | 'send other body'
  | 'send loose body'
  | 'burst'
  | 'crash'
  | 'freeze'
  | 'thaw'
  | 'nap'
  | 'restart'
  | 'jump'
  | 'deploy'
  | 'settle'
  | 'set clock'
  | 'wait'

/** One thing that happens from outside, after so many milliseconds since the one before. */
export interface Act {
  readonly afterMs: number
  readonly kind: ActKind
  /** Chooses who or what. */
  readonly pick: number
}

/** All that a seed decides before the world begins. */
export interface WorldOptions {
  readonly seed: number
  readonly modes: readonly Mode[]
  readonly keys: number
  readonly machines: number
  readonly leaseMs: number
  readonly retentionMs: number
  readonly storeTimeoutMs: number
  readonly waitMs: number
  readonly hasCache: boolean
  readonly afterCrash: 'refuse' | 'rerun' | 'look'
  readonly marksEffect: boolean
  readonly isolation: 'serializable' | 'read committed'
  /** The part of the processes that run workers while things go wrong. */
  readonly workerShare: number
  /** How much rarer workers look than they could, while nothing wakes them. */
  readonly idleness: number
  /** How many records a completer takes up at a time. */
  readonly lanes: number
  /** Whether what is sent in one go can be cut in two by a crash. */
  readonly splits: boolean
  /** Whether both versions run from the beginning. */
  readonly isRolledOut: boolean
  /** Whether the second version of the operation says how it takes up the first one's records. */
  readonly migrates: boolean
  /** Whether the provider of the call that must not be repeated can be asked about it. */
  readonly reconciles: boolean
  /** Whether the provider of the call that must not be repeated knows keys that it was given. */
  readonly honoursKeys: boolean
  /** Whether the second version of the app runs in lease mode what the first runs in transactions. */
  readonly mixesModes: boolean
  readonly clockRates: readonly number[]
  readonly stopsWhenFrozen: boolean
  readonly graceMs: number
  readonly rates: FaultRates
  readonly acts: readonly Act[]
  /** How transactions are opened, where it is not the usual way. */
  readonly transaction?: Pick<TransactionOptions<never>, 'claim' | 'rehearse'>
  /** How many fresh keys are let in, in which time. */
  readonly quota?: Quota
  /** The shape of the operation in phases, where it is not the usual one. */
  readonly plan?: Plan
}

/** The options of a seed in a plain world. */
export function plainOptions(seed: number): WorldOptions {
  const chance = new Chance(seed * 7919 + 1)
  const rate = (...rates: readonly number[]) =>
    chance.happens(0.45) ? 0 : chance.pick(0.02, ...rates)
  const honoursKeys = chance.happens(0.7)
  const modes = subset(chance)
  const keys = chance.pick(1, 1, 2, 3)
  const machines = chance.pick(1, 2, 2, 2, 3, 4)
  const leaseMs = chance.pick(1000, 3000, 5000)
  const retentionMs = chance.pick(86_400_000, 20_000, 8000)
  return {
    ...{ seed, modes, honoursKeys, keys, machines, leaseMs, retentionMs },
    storeTimeoutMs: chance.pick(300, 1000, 4000),
    waitMs: chance.pick(0, 0, 500, 8000),
    hasCache: chance.happens(0.5),
    afterCrash: chance.pick('refuse', 'refuse', 'rerun', 'look'),
    marksEffect: chance.happens(0.4),
    isolation: chance.pick('serializable', 'read committed'),
    workerShare: chance.pick(1, 0.6, 0.3),
    idleness: chance.pick(1, 4, 20),
    lanes: chance.pick(1, 1, 2),
    splits: chance.happens(0.4),
    migrates: chance.happens(0.5),
    reconciles: honoursKeys && chance.happens(0.4),
    mixesModes: chance.happens(0.4),
    isRolledOut: chance.happens(0.3),
    clockRates: [1, chance.pick(1, 1, 0.95), chance.pick(1, 1, 1.05), 1],
    stopsWhenFrozen: chance.happens(0.3),
    graceMs: chance.pick(0, 500, 3000),
    rates: {
      latencyMs: chance.pick(0, 2, 20, 200),
      cut: rate(0.05, 0.15),
      slow: rate(0.05, 0.15),
      lost: rate(0.01, 0.05),
      serialization: rate(0.1, 0.3),
      deafness: rate(0.3, 1),
      providerCut: rate(0.2, 0.4),
      providerSlow: rate(0.1, 0.3),
      providerError: rate(0.1, 0.3),
      providerDeclines: rate(0.1),
      handler: rate(0.1, 0.3),
      reply: rate(0.2, 0.5),
      sink: rate(0.2, 0.5),
      ...{ callLate: 0, callHang: 0, phaseHang: 0, clock: 0, careless: 0 },
    },
    acts: actsOf(chance),
    ...laterOptions(seed, retentionMs),
  }
}

/**
 * The options of a seed, in about half of them with an operation of a shape of its own.
 *
 * @param without - features that the world does not have, also where the seed draws them
 */
export function optionsOf(
  seed: number,
  without: ReadonlySet<Feature> = SWITCHED_OFF,
): WorldOptions {
  const plain = plainOptions(seed)
  const chance = new Chance(seed * 15_485_863 + 13)
  if (chance.happens(0.45)) return plain
  const features = drawFeatures(chance, without)
  const plan = planOf(chance, features, plain.retentionMs)
  const rate = (feature: Feature, ...rates: readonly [number, ...number[]]) =>
    features.has(feature) ? chance.pick(...rates) : 0
  const { quota: _quota, ...rest } = plain
  const modes: readonly Mode[] = chance.happens(0.8)
    ? ['phases']
    : [...plain.modes.filter((mode) => mode !== 'phases'), 'phases']
  return {
    // What counts for a quota is held against a clock that nobody sets.
    ...(features.has('database clock') ? rest : plain),
    ...{ plan, modes },
    rates: {
      ...plain.rates,
      callLate: rate('late calls', 0.1, 0.4, 1),
      callHang: rate('hanging calls', 0.1, 0.4),
      phaseHang: rate('hanging phases', 0.1, 0.3) || rate('unlimited phases', 0.1, 0.3),
      clock: rate('database clock', 0.02, 0.1, 0.3),
      careless: rate('careless operators', 0.3, 1),
    },
    acts: plannedActs(chance, plain.acts, features),
  }
}

/** The acts of the plain world, with those that belong to the features among them. */
function plannedActs(
  chance: Chance,
  acts: readonly Act[],
  features: ReadonlySet<Feature>,
): readonly Act[] {
  const more: ActKind[] = [...Array<ActKind>(chance.pick(1, 2, 3)).fill('deploy'), 'crash']
  if (features.has('process clocks')) more.push('set clock', 'set clock')
  if (features.has('tightened input')) more.push('send loose body', 'send loose body')
  if (features.has('careless operators')) more.push('settle', 'settle')
  const planned = [...acts]
  for (const kind of more) {
    const at = Math.floor(chance.fraction() * (planned.length + 1))
    const afterMs = chance.fraction() * chance.pick(20, 200, 2000)
    planned.splice(at, 0, { kind, afterMs, pick: chance.fraction() })
  }
  return planned
}

/** By a chance of their own, so that the worlds without them are as they were before them. */
function laterOptions(
  seed: number,
  retentionMs: number,
): Pick<WorldOptions, 'transaction' | 'quota'> {
  const chance = new Chance(seed * 104_729 + 11)
  const rehearse = chance.happens(0.2)
  const isHeld = chance.happens(0.4)
  const perMs = Math.min(retentionMs, chance.pick(500, 3000, 8000))
  const quota = { keys: chance.pick(1, 1, 2, 3), perMs }
  return {
    ...(isHeld && { transaction: { claim: 'with-first-statement', rehearse } }),
    ...(chance.happens(0.25) && { quota }),
  }
}

function subset(chance: Chance): readonly Mode[] {
  const modes: readonly Mode[] = ['lease', 'transaction', 'phases']
  const one = chance.pick(...(modes as readonly [Mode, ...Mode[]]))
  return chance.happens(0.5) ? [one] : modes.filter((mode) => mode === one || chance.happens(0.5))
}

/** How often each kind of act is chosen, if the seed has it at all. */
const WEIGHTS: Readonly<Record<ActKind, number>> = {
  send: 14,
  'send other body': 2,
  burst: 3,
  crash: 3,
  freeze: 3,
  thaw: 3,
  nap: 4,
  restart: 1,
  jump: 1,
  deploy: 2,
  settle: 2,
  wait: 3,
  ...{ 'set clock': 0, 'send loose body': 0 },
}

function actsOf(chance: Chance): readonly Act[] {
  // The keys of an object are what its type says.
  const kinds = (Object.keys(WEIGHTS) as ActKind[]).filter((kind) => WEIGHTS[kind] > 0)
  const chosen = kinds.filter((kind) => kind === 'send' || kind === 'wait' || chance.happens(0.6))
  const bag = chosen.flatMap((kind) => Array<ActKind>(WEIGHTS[kind]).fill(kind))
  const count = chance.pick(4, 6, 8, 12, 16, 32)
  const pace = chance.pick(20, 200, 1000)
  return Array.from({ length: count }, () => {
    const kind = bag[Math.floor(chance.fraction() * bag.length)] ?? 'send'
    const afterMs = kind === 'wait' ? chance.pick(1000, 5000, 30_000) : chance.fraction() * pace
    return { kind, afterMs, pick: chance.fraction() }
  })
}
