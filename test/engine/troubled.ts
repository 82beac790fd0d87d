import type { RepriseOptions } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { type Trouble, unreliable } from './unreliable-store.ts'
import { createWorld, turn, type World } from './world.ts'

export const LEASE_MS = 30_000

/** The connection breaks before the call reaches the store. */
export const RESET: Trouble = { fails: 'before' }

/** A world whose calls to the store meet trouble as told. */
export interface TroubledWorld extends World {
  /** What the next calls of the verb meet, one after the other. */
  trouble(verb: string, ...troubles: Trouble[]): void
  /** Lets time pass in steps that are short beside every pause of the engine. */
  wait(ms: number): Promise<void>
}

export function createTroubled(options: Partial<RepriseOptions> = {}): TroubledWorld {
  const troubles = new Map<string, Trouble[]>()
  const clock: Pick<World['clock'], 'after'> = { after: (ms, call) => world.clock.after(ms, call) }
  const wrap = (store: Store) =>
    unreliable(store, { clock, trouble: (verb) => troubles.get(verb)?.shift() })
  const world = createWorld(options, wrap)
  const wait = async (ms: number) => {
    const end = world.clock.now() + ms
    while (world.clock.now() < end) {
      await turn()
      world.clock.advance(Math.min(100, end - world.clock.now()))
    }
    await turn()
  }
  return { ...world, wait, trouble: (verb, ...next) => void troubles.set(verb, next) }
}
