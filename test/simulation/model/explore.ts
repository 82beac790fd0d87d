/**
 * Explores every order in which things can happen: depth first, each state once. A world can not be
 * copied, so each branch begins anew and is led to where it branches off.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { Violation } from '../checks.ts'
import { drained } from '../scheduler.ts'
import { Model, type ModelConfig, type ModelOptions } from './model.ts'
import type { ModelAct } from './process.ts'

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

/** How far an exploration is. */
export interface Progress {
  readonly states: number
  readonly statesPerSecond: number
  /** Branches that are still to be taken. */
  readonly open: number
}

/** What an exploration is watched by. */
export interface ExploreOptions extends ModelOptions {
  /** Told of each state. */
  readonly onState?: (model: Model) => void
  /** Told every few seconds. */
  readonly onProgress?: (progress: Progress) => void
}

const PROGRESS_MS = 5000

/** Explores a configuration until no state is left, or something is violated. */
export async function explore(
  config: ModelConfig,
  { onState = () => {}, onProgress = () => {}, ...options }: ExploreOptions = {},
): Promise<Explored> {
  const visited = new Set<string>()
  const branches: (readonly number[])[] = [[]]
  const tell = everyFewSeconds(onProgress)
  let [transitions, ends, depth] = [0, 0, 0]
  const result = (violation?: Explored['violation']): Explored => {
    const isComplete = branches.length === 0 && violation === undefined
    return { states: visited.size, transitions, ends, depth, isComplete, violation }
  }
  for (let branch = branches.pop(); branch !== undefined; branch = branches.pop()) {
    const path = [...branch]
    try {
      const model = await led(config, options, branch)
      for (;;) {
        depth = Math.max(depth, path.length)
        const state = digest(model.state())
        if (visited.has(state)) break
        visited.add(state)
        onState(model)
        const acts = model.acts()
        transitions += acts.length
        for (let other = acts.length - 1; other >= 1; other--) branches.push([...path, other])
        const [first] = acts
        if (first === undefined) {
          ends++
          await model.heal()
          break
        }
        path.push(0)
        await model.act(first)
      }
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      return result({ message: error.message, acts: await namesOf(config, options, path) })
    }
    tell(visited.size, branches.length)
  }
  return result()
}

function everyFewSeconds(onProgress: (progress: Progress) => void) {
  let [toldAt, told] = [performance.now(), 0]
  return (states: number, open: number) => {
    const ms = performance.now() - toldAt
    if (ms < PROGRESS_MS) return
    onProgress({ states, statesPerSecond: Math.round(((states - told) / ms) * 1000), open })
    ;[toldAt, told] = [performance.now(), states]
  }
}

/** The model where the branch leads. */
async function led(
  config: ModelConfig,
  options: ModelOptions,
  branch: readonly number[],
  onAct: (act: ModelAct) => void = () => {},
): Promise<Model> {
  const model = new Model(config, options)
  await drained()
  for (const choice of branch) {
    const act = model.acts()[choice]
    if (act === undefined) throw new Error('The model is not the same when it is run again.')
    onAct(act)
    await model.act(act)
  }
  return model
}

/** What happens on the way to a violation: on its last act, or when everything heals after it. */
async function namesOf(
  config: ModelConfig,
  options: ModelOptions,
  path: readonly number[],
): Promise<readonly string[]> {
  const names: string[] = []
  try {
    await led(config, options, path, (act) => names.push(act.name()))
    names.push('everything heals')
  } catch (error) {
    if (!(error instanceof Violation)) throw error
  }
  return names
}

function digest(state: string): string {
  return createHash('sha1').update(state).digest('base64')
}
