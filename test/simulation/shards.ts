/**
 * Many seeds, in as many processes as there are to be.
 *
 * @module
 */

import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import type { Mutant } from './mutants.ts'
import type { Part } from './run.ts'
import type { RangeAsked, RangePlayed, SeedRange } from './shard.ts'

/** What is to be played. */
export interface Shards extends SeedRange {
  readonly processes: number
  readonly part: Part
  readonly mutant: Mutant | undefined
  /** Asked before each range: whether there is still time. */
  readonly goesOn: () => boolean
  readonly onPlayed: (played: RangePlayed) => void
}

/** Seeds that a process is given at once. */
const RANGE = 100

/** Plays all of them; what is handed out is played to its end. */
export async function playShards(shards: Shards): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-shards-'))
  try {
    const file = join(folder, 'shard.mjs')
    await bundle('shard.ts', file, shards.mutant?.patch)
    const next = rangesOf(shards)
    await Promise.all(Array.from({ length: shards.processes }, () => play(file, shards, next)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function rangesOf({ from, to, goesOn }: Shards): () => SeedRange | undefined {
  let at = from
  return () => {
    if (at > to || !goesOn()) return undefined
    const range = { from: at, to: Math.min(to, at + RANGE - 1) }
    at = range.to + 1
    return range
  }
}

async function play(
  file: string,
  { part, mutant, onPlayed }: Shards,
  next: () => SeedRange | undefined,
): Promise<void> {
  const flaws = mutant?.flaw === undefined ? [] : [mutant.flaw]
  // Nothing of the loader that this process may run under: the bundle is plain JavaScript.
  const shard = fork(file, { serialization: 'advanced', execArgv: [] })
  try {
    await new Promise<void>((resolve, reject) => {
      const hand = () => {
        const range = next()
        if (range === undefined) return resolve()
        const asked: RangeAsked = { ...range, part, flaws }
        shard.send(asked)
      }
      shard.on('error', reject)
      shard.on('exit', (code) => reject(new Error(`A process that plays ended with ${code}.`)))
      // A shard sends nothing else.
      shard.on('message', (played) => {
        onPlayed(played as RangePlayed)
        hand()
      })
      hand()
    })
  } finally {
    shard.kill()
  }
}
