/**
 * Plays worlds and judges them.
 *
 * @module
 */

import { isOpen, type JournalEntry } from '../../../src/client/entry.ts'
import type { Change } from '../../support/planted.ts'
import { violationsIn } from './judge.ts'
import { Origins } from './origins.ts'
import { type Plan, planOf, smallerPlans } from './plan.ts'
import { type Subject, subjectOf } from './subject.ts'
import { World } from './world.ts'

/** How a world ended. */
export interface Outcome {
  readonly plan: Plan
  readonly violations: readonly string[]
}

/** Longest that an operation takes beyond its deadline: three last words to the journal. */
const LAST_MS = 3_500

export class Playground {
  readonly #origins: Origins
  readonly #subject: Subject
  #worlds = 0

  private constructor(origins: Origins, subject: Subject) {
    this.#origins = origins
    this.#subject = subject
  }

  static async open(changes: readonly Change[] = []): Promise<Playground> {
    return new Playground(await Origins.open(), await subjectOf(changes))
  }

  close(): Promise<void> {
    return this.#origins.close()
  }

  playSeed(seed: number): Promise<Outcome> {
    return this.play(planOf(seed))
  }

  async play(plan: Plan): Promise<Outcome> {
    const origins = this.#origins
    const world = new World(plan, { origins, subject: this.#subject, name: `w${this.#worlds++}` })
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    const { emitWarning } = process
    const { warn } = console
    process.on('unhandledRejection', note)
    // Journals say what is damaged, which happens here all the time.
    process.emitWarning = () => {}
    console.warn = () => {}
    try {
      await world.open()
      for (const act of plan.acts) await world.act(act)
      await world.quiet()
      const settled = await settle(world)
      await world.quiet()
      const violations = await violationsIn(world, plan, settled)
      return {
        plan,
        violations: [...violations, ...unhandled.map((error) => `nobody handled ${String(error)}`)],
      }
    } finally {
      world.close()
      process.off('unhandledRejection', note)
      process.emitWarning = emitWarning
      console.warn = warn
    }
  }

  /** The smallest plan that was found to fail in the same way. */
  async shrink(outcome: Outcome): Promise<Outcome> {
    let smallest = outcome
    for (let isSmaller = true; isSmaller; ) {
      isSmaller = false
      for (const plan of smallerPlans(smallest.plan)) {
        const played = await this.play(plan)
        if (!played.violations.some((one) => isAlike(one, outcome.violations))) continue
        smallest = played
        isSmaller = true
        break
      }
    }
    return smallest
  }
}

/** The same violation, whatever the numbers in it are. */
function isAlike(violation: string, others: readonly string[]): boolean {
  const kindOf = (text: string) => text.replaceAll(/\d+|"[^"]*"/g, '')
  return others.some((other) => kindOf(other) === kindOf(violation))
}

/** Whoever looks at the world when it is whole again. */
export interface Settled {
  /** What is still open, by the id of its entry, with why. */
  readonly open: ReadonlyMap<string, string>
  readonly entries: readonly JournalEntry[]
  readonly violations: readonly string[]
}

/** Heals the world, waits for every operation, and has each user settle what is left. */
async function settle(world: World): Promise<Settled> {
  const violations: string[] = []
  await world.heal()
  const last = Math.max(0, ...world.asked.map(({ endsAt }) => endsAt)) - world.clock.now()
  await world.advance(Math.max(0, last) + LAST_MS)
  for (const { op, process, hasKey, told, toldAt = 0, endsAt } of world.asked) {
    // Without a key there is no time limit.
    if (process.death.signal.aborted || !hasKey) continue
    if (told === undefined) violations.push(`nobody was told of ${op}`)
    else if (toldAt > endsAt + LAST_MS) violations.push(`${op} took ${toldAt - endsAt} ms too long`)
  }
  // By then the locks of dead processes are free.
  await world.advance(3_000)
  world.clock.advance(60_000)
  await world.quiet()
  const open = new Map<string, string>()
  for (const user of ['bob', 'alice'] as const) {
    for (const process of world.processes) {
      process.session.user = user
      const before = othersOf(await world.entries(), user)
      const probe = world.send(`probe-${user}-${process.machine}`, process)
      await world.quiet()
      if (probe.told?.how !== 'answer' || probe.told.status !== 201) {
        violations.push(
          `the client of process ${process.machine} does not work after everything is healed: ${String(probe.told?.error)}`,
        )
      }
      // What comes after an operation that turns out to be expired goes on with the next round.
      for (let round = 0; round < 2; round++) {
        const resuming = process.client.resume().catch((error: unknown) => {
          violations.push(`resume() fails after everything is healed: ${String(error)}`)
          return []
        })
        if (!(await world.until(resuming, 60_000))) {
          violations.push('resume() has no end')
          break
        }
        const reasons = await resuming
        for (const one of reasons) {
          const { id } = one.entry
          if ('error' in one) {
            open.set(id, String(Reflect.get(Object(one.error), 'reason') ?? one.error))
          } else open.delete(id)
        }
        world.resumed.push(...reasons)
      }
      const after = othersOf(await world.entries(), user)
      if (after !== before)
        violations.push(
          `what another user has left was touched by ${user}: ${before} is now ${after}`,
        )
    }
  }
  return { open, entries: await world.entries(), violations }
}

/** What is open of everybody else. */
function othersOf(entries: readonly JournalEntry[], user: string): string {
  const theirs = entries.filter((entry) => isOpen(entry) && entry.caller !== user)
  return theirs
    .map(({ id, state, attempts }) => `${id} ${state} ${attempts}`)
    .sort()
    .join()
}

/** A finding, for people. */
export function reportOf(seed: number, { plan, violations }: Outcome): string {
  return `seed ${seed}: ${violations.join('; ')}\n${JSON.stringify(plan)}`
}
