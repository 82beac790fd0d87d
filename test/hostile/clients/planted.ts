/**
 * Bugs that hostile clients are there to find. Each is a change of one place in the source; the apps
 * are bundled with it and loaded.
 *
 * @module
 */

import { join } from 'node:path'
import { type Change, loadPlanted } from '../../support/planted.ts'
import type { Playground } from './run.ts'

/** A bug. */
export interface Planted extends Change {
  /** What is wrong, in words. */
  readonly what: string
  /** It is found within so many seeds, from 1 on. */
  readonly seeds: number
}

/** Every planted bug. */
export const PLANTED: readonly Planted[] = [
  {
    what: 'the connection shows that the client has ended its side, and Express 5 parses no body',
    file: 'adapters/node-shelter.ts',
    find: 'if (chunk !== null || !this.#isOccupied) return',
    replace: 'return',
    seeds: 60,
  },
  {
    what: 'a stream of HTTP/2 that was cut off counts as whole',
    file: 'adapters/node-body.ts',
    find: 'return stream === undefined ? complete : isWholeStream(stream)',
    replace: 'return complete || stream?.readableEnded === true',
    seeds: 60,
  },
  {
    what: 'a body counts as whole as soon as its first piece has come',
    file: 'adapters/node-body.ts',
    find: 'if (!isComplete(request)) return\n      stop()',
    replace: 'if (chunks.length === 0 && !isComplete(request)) return\n      stop()',
    seeds: 60,
  },
  {
    what: 'what the client does reaches the request while its handler works',
    file: 'adapters/node-shelter.ts',
    find: 'return [...this.#guests].some(({ request }) => isComplete(request))',
    replace: 'return false',
    seeds: 60,
  },
  {
    what: 'Fastify calls the handler after a refusal, because the client of HTTP/2 has gone',
    file: 'adapters/fastify-reply.ts',
    find: "if (start === 'answered' && !reply.raw.writableEnded) reply.hijack()",
    replace: '',
    seeds: 120,
  },
]

/** The playground with a bug in what it plays on. */
export async function withPlanted(planted: Planted): Promise<typeof Playground> {
  const entry = join(import.meta.dirname, 'run.ts')
  const external = { packages: 'external' } as const
  const [loaded] = await loadPlanted<{ Playground: typeof Playground }>(entry, [planted], external)
  return loaded.Playground
}
