/**
 * Random histories of requests, on a real engine.
 *
 * @module
 */

import fc from 'fast-check'
import type { CapturedResponse } from '../../src/core/response.ts'
import type { RunRequest } from '../../src/engine/job.ts'
import type { RunResult } from '../../src/engine/result.ts'
import { response } from '../engine/world.ts'

/** One request of a history. */
export interface Step {
  readonly key: number
  readonly operation: number
  readonly caller: number
  readonly fingerprint: number
  readonly does: 'answer' | 'throw' | 'fail' | 'skip'
  /** Whether the next request is sent before this one has ended. */
  readonly overlaps: boolean
}

export const histories: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    key: fc.nat(2),
    operation: fc.nat(1),
    caller: fc.nat(1),
    fingerprint: fc.nat(1),
    does: fc.constantFrom('answer', 'answer', 'answer', 'throw', 'fail', 'skip'),
    overlaps: fc.boolean(),
  }),
  { minLength: 1, maxLength: 25 },
)

/** How each request ended, as whoever sent it saw it. */
export interface Played {
  readonly step: Step
  readonly outcome: RunResult['outcome'] | 'threw' | 'skipped'
  readonly hasRun: boolean
}

export interface Player {
  run(
    request: RunRequest,
    handler: () => Promise<CapturedResponse>,
  ): Promise<Pick<RunResult, 'outcome'>>
  skip(skipped: { type: 'rejected'; operation: string }): void
}

export const operationOf = ({ operation }: Pick<Step, 'operation'>): string => `POST /${operation}`

/** Plays a history; `salt` keeps the keys of different histories apart. */
export async function play(
  player: Player,
  steps: readonly Step[],
  salt: string,
): Promise<readonly Played[]> {
  const playing: Promise<Played>[] = []
  for (const step of steps) {
    const one = playOne(player, step, salt)
    playing.push(one)
    if (!step.overlaps) await one
  }
  return Promise.all(playing)
}

async function playOne(player: Player, step: Step, salt: string): Promise<Played> {
  const operation = operationOf(step)
  if (step.does === 'skip') {
    player.skip({ type: 'rejected', operation })
    return { step, outcome: 'skipped', hasRun: false }
  }
  let hasRun = false
  const handler = async () => {
    hasRun = true
    await Promise.resolve()
    if (step.does === 'throw') throw new Error(`secret-body ${salt}`)
    return response(step.does === 'fail' ? 500 : 201)
  }
  const request = {
    ...{ caller: `caller-${step.caller}`, operation, key: `key-${salt}-${step.key}` },
    fingerprints: [`f${step.fingerprint}`],
  }
  try {
    const { outcome } = await player.run(request, handler)
    return { step, outcome, hasRun }
  } catch {
    return { step, outcome: 'threw', hasRun }
  }
}

/** What the counters must say of what was played: from what the senders saw, not from events. */
export function expected(played: readonly Played[]) {
  const count = (holds: (one: Played) => boolean) => played.filter(holds).length
  const miss = count(({ outcome, hasRun }) => {
    return outcome === 'executed' || outcome === 'resumed' || (outcome === 'threw' && hasRun)
  })
  const hit = count(({ outcome }) => outcome === 'replayed')
  const mismatch = count(({ outcome }) => outcome === 'mismatch')
  const in_progress = count(({ outcome }) => outcome === 'in_progress' || outcome === 'unknown')
  const rejected = count(({ outcome }) => outcome === 'skipped')
  const checked = played.length - rejected - count((one) => one.outcome === 'threw' && !one.hasRun)
  return { miss, hit, mismatch, in_progress, rejected, checked }
}
