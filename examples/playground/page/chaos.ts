/**
 * Many payments, each with a fault drawn by chance. For the page and for Node.
 *
 * @module
 */

import type { Tally } from '../story.ts'
import { isFinal, pauseBefore, send, TARGETS } from './request.ts'

/** What is run. */
export interface ChaosOptions {
  /** Where the server is; empty for the one that this page is from. */
  readonly base: string
  readonly seed: number
  /** How many payments, each with a key of its own. */
  readonly rounds: number
  /** What all keys of this run begin with. */
  readonly prefix: string
  readonly onProgress?: (progress: ChaosProgress) => void
}

/** How far it is. */
export interface ChaosProgress {
  readonly done: number
  readonly attempts: number
  readonly crashes: number
}

/** What came of the payments with one fault. */
export interface FaultCount {
  readonly fault: string
  payments: number
  attempts: number
  unanswered: number
}

/** What came of it. */
export interface ChaosResult extends ChaosProgress {
  readonly tally: Tally
  readonly faults: readonly FaultCount[]
  /** Payments that never got an answer. */
  readonly unanswered: number
  readonly isExactlyOnce: boolean
}

/** Payments at a time. */
const CONCURRENCY = 8

/** Attempts of one payment at most. */
const ATTEMPTS_MAX = 80

/** Faults, each as often as its weight says. */
const WEIGHTS: Readonly<Record<string, number>> = {
  '': 30,
  twice: 12,
  'cut-before': 12,
  'cut-after': 14,
  'slow=300': 8,
  'fail-before': 6,
  'fail-after': 6,
  'crash=after-claim': 2,
  'crash=ride_created': 1,
  'crash=before-charge': 2,
  'crash=after-charge': 3,
  'crash=charge_created': 2,
  'crash=before-commit': 1,
  'crash=after-commit': 1,
}

/** Runs it, and asks the provider's ledger what really happened. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { base, rounds, prefix } = options
  const draws = drawFaults(options.seed, rounds)
  const counts = new Map<string, FaultCount>()
  const progress = { done: 0, attempts: 0, crashes: 0 }
  let unanswered = 0
  let next = 0
  const lane = async () => {
    while (next < rounds) {
      const number = next++
      const fault = draws[number] ?? ''
      const count = counts.get(fault) ?? { fault, payments: 0, attempts: 0, unanswered: 0 }
      counts.set(fault, count)
      const paid = await payOnce(base, `${prefix}${number}`, fault)
      count.payments++
      count.attempts += paid.attempts
      if (!paid.isAnswered) {
        count.unanswered++
        unanswered++
      }
      progress.done++
      progress.attempts += paid.attempts
      if (paid.isKilled) progress.crashes++
      options.onProgress?.({ ...progress })
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane))
  const tally = await readTally(base, prefix)
  const isExactlyOnce =
    unanswered === 0 &&
    tally.keys === rounds &&
    tally.unaccounted.length === 0 &&
    tally.duplicates === 0
  const faults = [...counts.values()].sort((a, b) => a.fault.localeCompare(b.fault))
  return { ...progress, tally, faults, unanswered, isExactlyOnce }
}

/** The faults of a run: the same for the same seed. */
function drawFaults(seed: number, rounds: number): readonly string[] {
  const bag = Object.entries(WEIGHTS).flatMap(([fault, weight]) =>
    Array.from({ length: weight }, () => fault),
  )
  const chance = mulberry32(seed)
  return Array.from({ length: rounds }, () => bag[Math.floor(chance() * bag.length)] ?? '')
}

/** One payment, until it has an answer. */
async function payOnce(base: string, key: string, fault: string) {
  const attempt = (asked: string) =>
    send({ path: '/rides', key, fault: asked, target: TARGETS.usual }, base)
  const isTwice = fault === 'twice'
  let heard = isTwice ? (await Promise.all([attempt(''), attempt('')]))[0] : await attempt(fault)
  const isKilled = fault.startsWith('crash=') && heard.status === null
  let attempts = isTwice ? 2 : 1
  while (!isFinal(heard) && attempts < ATTEMPTS_MAX) {
    const ms = pauseBefore(attempts, heard)
    await new Promise((resolve) => setTimeout(resolve, ms))
    heard = await attempt('')
    attempts++
  }
  return { attempts, isKilled, isAnswered: heard.status === 201 }
}

async function readTally(base: string, prefix: string): Promise<Tally> {
  const response = await fetch(`${base}/demo/tally?prefix=${encodeURIComponent(prefix)}`)
  // Answered by the server in this shape.
  return (await response.json()) as Tally
}

/** Chance that is the same for the same seed (mulberry32, public domain). */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
