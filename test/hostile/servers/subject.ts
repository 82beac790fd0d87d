/**
 * The client that is tried: loaded in several copies, so that each process of a world has the state of a
 * process of its own, and each of the two machines has a name of its own.
 *
 * @module
 */

import { join } from 'node:path'
import { type Change, loadPlanted } from '../../support/planted.ts'
import type * as Entry from './entry.ts'

/** The client, once for each life of each of two machines. */
export type Subject = readonly (readonly (typeof Entry)[])[]

/** How often a process can be killed in a world. */
export const LIVES = 8

/** The name of a machine follows from the place among the copies. */
const NAMED: Change = {
  file: 'client/journal-files.ts',
  find: '.update(hostname())',
  replace: ".update(String(Number(new URL(import.meta.url).searchParams.get('copy')) % 2))",
}

/** Loads the client, with bugs planted where they are asked for. */
export async function subjectOf(changes: readonly Change[] = []): Promise<Subject> {
  const isNamed = !changes.some(({ find }) => find.includes(NAMED.find))
  const copies = await loadPlanted<typeof Entry>(
    join(import.meta.dirname, 'entry.ts'),
    isNamed ? [NAMED, ...changes] : changes,
    { copies: 2 * LIVES },
  )
  return [0, 1].map((machine) => copies.filter((_, at) => at % 2 === machine))
}
