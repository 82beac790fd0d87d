/**
 * Hostile handlers on nodes that are killed: each key has a program of its own, the same on every node,
 * and its answer names the statements that the handler was told are done.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { query } from '../../scripts/servers/postgres.ts'
import { createReprise, type RunResult } from '../../src/index.ts'
import type { Connections } from '../hostile/handlers/postgres.ts'
import { type Abilities, type Body, caseOf, type Program } from '../hostile/handlers/program.ts'
import { nameRuns, Play, type RunLog, requestOf } from '../hostile/handlers/run.ts'
import { type EffectRow, ON_A_SERVER } from '../hostile/handlers/world.ts'
import type { Load } from './load.ts'

/** The table that programs write to. */
export const HOSTILE_TABLE = 'create table effects (key text, run text, name text)'

/** Connections of the pool of a node; a program takes two at most. */
export const HOSTILE_POOL = 6

const abilities: Abilities = {
  ...{ ...ON_A_SERVER, adapters: ['run'], modes: ['transaction'], pools: [HOSTILE_POOL] },
  ...{ ends: false, stage: false },
}

/** The program of a key; every one adds a row first, so that a run that counts can be seen. */
function programOf(key: string, { nested }: { readonly nested: boolean }): Program {
  const seed = Number(/\d+/.exec(key)?.[0])
  const [program] = caseOf(seed, { ...abilities, nested }).programs
  if (program === undefined) throw new Error('A case has no program.')
  return { ...program, steps: [{ do: 'insert', waits: 'awaited' }, ...program.steps] }
}

/** Runs the programs of keys in transactions of a client library or ORM. */
export function runHostile(
  { store, statements }: Pick<Connections, 'store' | 'statements'>,
  options: { readonly leaseMs: number; readonly storeTimeoutMs: number },
): (key: string) => Promise<RunResult> {
  nameRuns(randomBytes(4).toString('hex'))
  const reprise = createReprise({ store, ...options })
  const shared = { world: { reprise, statements, beside: async () => {} }, kept: undefined }
  const plays = new Map<string, Play>()
  const nested = statements.nested !== undefined
  return (key) => {
    const play = plays.get(key) ?? new Play(key, programOf(key, { nested }), shared)
    plays.set(key, play)
    return reprise.runInTransaction(requestOf(key), ({ tx, stage }) => {
      return new Promise((resolve, reject) => {
        const log = play.begin()
        const answer = (status: number, body: Body) =>
          resolve({
            ...{ status, headers: [], body: new TextEncoder().encode(bodyOf(log)) },
            bodyIsStream: body === 'large stream',
          })
        play.handle(log, { tx, stage, answer, cut: () => {} }).catch(reject)
      })
    })
  }
}

/** The run, and what it was told is done. */
function bodyOf({ id, sent }: RunLog): string {
  const done = sent.filter(({ state, maybe }) => state === 'done' && !maybe)
  return JSON.stringify({ run: id, done: done.map(({ name }) => name) })
}

/** What was answered and what is there, for every key. */
export async function countHostile(
  load: Load,
  url: string,
): Promise<{ readonly duplicates: number; readonly lost: number }> {
  const { rows } = await query(url, 'select key, run, name from effects')
  const byKey = grouped(rows)
  let [duplicates, lost] = [0, 0]
  for (const key of load.keys) {
    const there = byKey.get(key) ?? []
    if (new Set(there.map(({ run }) => run)).size > 1) duplicates++
    const answer = load.answers.get(key)
    if (answer !== undefined && !isWhole(there, answer.body ?? '')) lost++
  }
  return { duplicates, lost }
}

function grouped(rows: readonly EffectRow[]): ReadonlyMap<string, readonly EffectRow[]> {
  const groups = new Map<string, EffectRow[]>()
  for (const row of rows) groups.set(row.key, [...(groups.get(row.key) ?? []), row])
  return groups
}

/** Whether the rows are those of the run that was answered, and everything that it was told is there. */
function isWhole(there: readonly EffectRow[], body: string): boolean {
  // A run inside a run answers with its name alone; it has one row.
  const { run, done } = body.startsWith('{')
    ? (JSON.parse(body) as { run: string; done: readonly string[] })
    : { run: body, done: ['row 1'] }
  const names = new Set(there.map(({ name }) => name))
  return there.every((row) => row.run === run) && done.every((name) => names.has(name))
}
