/**
 * What is left out inside each runtime, and why. Each entry says how many tests it means, so that none is left out
 * unnoticed.
 *
 * @module
 */

import type { RuntimeName } from './programs.ts'

/** Tests of a file that do not apply to a runtime. */
export interface Left {
  readonly file: string
  /** Which tests, by their full names. */
  readonly tests: RegExp
  readonly count: number
  readonly reason: string
}

const ADAPTERS = 'test/runtimes/inside/workerd-serve.ts'

/** By runtime. */
export const left: Readonly<Record<RuntimeName, readonly Left[]>> = {
  bun: [],
  deno: [
    {
      file: 'test/client/servers.test.ts',
      tests: /says so when the server ignores keys$/,
      count: 1,
      reason:
        "Deno's fetch sends a request again by itself when a connection that it has used before is cut; deno-client.ts shows what to do",
    },
  ],
  workerd: [
    {
      file: 'test/client/journal.test.ts',
      tests: /^a journal in a folder /,
      count: 13,
      reason: 'workerd has no files that outlive a request',
    },
    {
      file: ADAPTERS,
      tests: /: hole 4: sends a file as without protection/,
      count: 2,
      reason: 'workerd has no files',
    },
    {
      file: ADAPTERS,
      tests: /: leaves the connection usable after an answer, a replay and a refusal$/,
      count: 2,
      reason: 'node:http of workerd, which asks, keeps no connection open',
    },
    {
      file: ADAPTERS,
      tests: /: frees no key while work goes on that the handler has told of$/,
      count: 2,
      reason:
        'workerd ends what a request still does once it is answered, and the adapter does not ask for more time',
    },
    {
      file: ADAPTERS,
      tests:
        /: (?:commits the effect and|commits what the handler did|sends nothing before the commit|undoes the effect|never sends the answer of a transaction|hole 22: runs a transaction again|hole 5: has one effect for ten duplicates at the same time in transaction mode|hole 10: commits when|refuses at start what does not go with transactions|tells that a stream can not be committed)/,
      count: 22,
      reason:
        'workerd binds a socket to the request that opened it, so requests cannot share a store with transactions',
    },
  ],
}
