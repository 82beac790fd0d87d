/**
 * Explores every order in which things can happen: depth first, each state once. A world can not be
 * copied, so each branch begins anew and is led to where it branches off.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { Violation } from '../checks.ts'
import type { Flaw } from '../flaws.ts'
import { drained } from '../scheduler.ts'
import { Model, type ModelConfig } from './model.ts'

/** What an exploration came to. */
export interface Explored {
  readonly states: number
  readonly transitions: number
  /** Worlds that came to their end, and were healed and asked once more. */
  readonly ends: number
  /** The longest way, in acts. */
  readonly depth: number
  /** Whether no state is left. */
  readonly isComplete: boolean
  /** What was violated, and the acts that lead there. */
  readonly violation: { readonly message: string; readonly acts: readonly string[] } | undefined
}

/** Bounds, for whoever has no patience. */
export interface ExploreOptions {
  readonly statesMax?: number
  readonly flaws?: ReadonlySet<Flaw>
}

/** Explores a configuration until no state is left, or something is violated. */
export async function explore(
  config: ModelConfig,
  { statesMax = Number.POSITIVE_INFINITY, flaws = new Set() }: ExploreOptions = {},
): Promise<Explored> {
  const visited = new Set<string>()
  const branches: (readonly number[])[] = [[]]
  let [transitions, ends, depth] = [0, 0, 0]
  const result = (violation?: Explored['violation']): Explored => {
    const isComplete = branches.length === 0 && violation === undefined
    return { states: visited.size, transitions, ends, depth, isComplete, violation }
  }
  for (let branch = branches.pop(); branch !== undefined; branch = branches.pop()) {
    const model = new Model(config, flaws)
    await drained()
    const path = [...branch]
    const names: string[] = []
    try {
      for (const choice of branch) names.push(await choose(model, choice))
      for (;;) {
        depth = Math.max(depth, path.length)
        const state = digest(model.state())
        if (visited.has(state)) break
        visited.add(state)
        const acts = model.acts()
        transitions += acts.length
        for (let other = acts.length - 1; other >= 1; other--) branches.push([...path, other])
        if (acts.length === 0) {
          ends++
          names.push('everything heals')
          await model.heal()
          break
        }
        path.push(0)
        names.push(await choose(model, 0))
      }
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      return result({ message: error.message, acts: names })
    }
    if (visited.size > statesMax) break
  }
  return result()
}

async function choose(model: Model, choice: number): Promise<string> {
  const act = model.acts()[choice]
  if (act === undefined) throw new Error('The model is not the same when it is run again.')
  await model.act(act)
  return act.name
}

function digest(state: string): string {
  return createHash('sha1').update(state).digest('base64')
}
