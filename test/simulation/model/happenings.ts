/**
 * What happens to the processes of a model from outside: they die, time passes, workers run, and
 * people do something. Each may happen so often and no more.
 *
 * @module
 */

import { freeByHand } from '../database/records.ts'
import { isFree, rowLock } from '../database/session.ts'
import type { Tables } from '../database/tables.ts'
import type { Outside } from '../provider.ts'
import { type Asker, free, isIdle, settleActs, workActs } from './asker.ts'
import type { ModelAct } from './process.ts'

/** What may happen so often and no more. */
export type Budgeted =
  | 'crash'
  | 'lapse'
  | 'expire'
  | 'retry'
  | 'complete'
  | 'reap'
  | 'settle'
  | 'release'

/** How often each of these may still happen. */
export type Budget = Record<Budgeted, number>

/** What acts from outside work on. */
export interface Scene {
  readonly askers: readonly Asker[]
  readonly tables: Tables
  readonly outside: Outside
  readonly budget: Budget
  /** Whether also happens what makes no difference. */
  readonly isThorough: boolean
  /** Lets so many milliseconds pass. */
  readonly pass: (ms: number) => void
  /** Starts another process in the place of one that died. */
  readonly boot: () => void
}

/** Not what a waiter's timers take, so that they can be told apart. */
export const LEASE_MS = 1200
export const RETENTION_MS = 20_000
/** Longer than a lease, and shorter than a call to the store may take. */
export const LAPSE_MS: number = LEASE_MS + 1

/** Processes die, and time passes. */
export function faults(scene: Scene): readonly ModelAct[] {
  const { askers, tables, budget, pass, boot, isThorough } = scene
  // To die with an answer on the way back comes to the same as to die before it was carried out:
  // what was sent arrives all the same, and nobody hears of it.
  const busy = askers.filter((asker) => {
    const { process } = asker
    const isOpen = isThorough || process.replies().length === 0
    return process.isAlive && !isIdle(asker) && isOpen
  })
  const crashes = busy.map((asker) => ({
    name: () => `${asker.process.name} crashes`,
    run: () => {
      asker.process.crash()
      asker.running = 0
      asker.left = []
      boot()
    },
  }))
  const isUsed = tables.records.size > 0 || tables.sessions.size > 0
  const lapse = { name: () => 'lapse', run: () => pass(LAPSE_MS) }
  const expire = { name: () => 'expire', run: () => pass(RETENTION_MS + LAPSE_MS) }
  return [
    ...paid(budget, 'crash', crashes),
    ...paid(budget, 'lapse', isUsed ? [lapse] : []),
    ...paid(budget, 'expire', isUsed ? [expire] : []),
  ]
}

/** The completer and the reaper run, in a process that has nothing else to do. */
export function works({ askers, budget }: Scene): readonly ModelAct[] {
  const acts = free(askers).map(workActs)
  return [
    ...paid(
      budget,
      'complete',
      acts.flatMap(([completes]) => completes ?? []),
    ),
    ...paid(
      budget,
      'reap',
      acts.flatMap(([, reaps]) => reaps ?? []),
    ),
  ]
}

/** A person settles what is open, as the ledger says. */
export function settles(scene: Scene): readonly ModelAct[] {
  const { askers, outside, budget } = scene
  const isQuiet = askers.every(({ process }) => process.acts().length === 0)
  const isDone =
    outside.effects.length > 0 || outside.charges.some(({ point }) => point === 'charged')
  const resumes = isQuiet && !isDone ? settlements(scene, 'resume') : []
  return paid(budget, 'settle', [...resumes, ...settlements(scene, 'give_up')])
}

/** What a person could settle in this way. */
export function settlements(
  { askers, tables }: Scene,
  way: 'resume' | 'give_up',
): readonly ModelAct[] {
  return free(askers).flatMap((asker) => settleActs(tables, asker, way))
}

/** An operator takes the lease away from whoever has it. */
export function orders({ tables, budget }: Scene): readonly ModelAct[] {
  const open = [...tables.records.values()].filter(({ id, owner, response }) => {
    return owner !== null && response === null && isFree(tables, rowLock(id))
  })
  const releases = open.map(({ id, key }) => ({
    name: () => `an operator releases ${key}`,
    run: () => freeByHand(tables, id),
  }))
  return paid(budget, 'release', releases)
}

function paid(budget: Budget, name: Budgeted, acts: readonly ModelAct[]): readonly ModelAct[] {
  if (budget[name] === 0) return []
  return acts.map((act) => ({
    ...act,
    run: () => {
      budget[name]--
      act.run()
    },
  }))
}
