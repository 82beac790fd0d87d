/**
 * The adapters with a mistake planted into the source: bundled with one place changed, and loaded.
 *
 * @module
 */

import { join } from 'node:path'
import { loadPlanted } from '../../support/planted.ts'
import type { Adapters } from './world.ts'

/** A mistake: text of a file below `src/adapters`, and what each piece of it is replaced by. */
export interface Mistake {
  readonly what: string
  readonly file: string
  readonly changes: readonly (readonly [find: string, replace: string])[]
  /** Within so many seeds, from the first on, it is found. */
  readonly seeds: number
}

/** What the generator is there to find. */
export const MISTAKES: readonly Mistake[] = [
  {
    what: 'Koa: a replay gives the middleware in front each header as a list',
    file: 'koa-answer.ts',
    changes: [['lines.length === 1 ? only : lines', 'lines']],
    seeds: 300,
  },
  {
    what: 'Koa: what the middleware in front made of an answer is stored, and changed again',
    file: 'koa.ts',
    changes: [
      ['    if (isWritten()) return\n', '    return\n'],
      ['this.#isGiven ? given : written(given)', 'given'],
    ],
    seeds: 300,
  },
  {
    what: 'Koa: a replay gives the middleware in front bytes, whatever the handler gave',
    file: 'koa-answer.ts',
    changes: [['bodyIn(answer, form)', "bodyIn(answer, 'bytes')"]],
    seeds: 300,
  },
  {
    what: 'a piped source that has ended counts as failed',
    file: 'node-sources.ts',
    changes: [[' && !source.readableEnded', '']],
    seeds: 600,
  },
  {
    what: 'a replay keeps its content coding, whoever asks',
    file: 'content-coding.ts',
    changes: [['return decoded(answer, codings)', 'return answer']],
    seeds: 100,
  },
  {
    what: 'the reason phrase is not replayed',
    file: 'node-head.ts',
    changes: [['const isUsual = !message ||', 'const isUsual = true ||']],
    seeds: 100,
  },
  {
    what: 'Fastify: what was written past it is replayed through its hooks',
    file: 'fastify-reply.ts',
    changes: [['isHijacked(this.#reply) ? written(given) : given', 'given']],
    seeds: 100,
  },
]

/** The adapters with the mistake in them. */
export async function withMistake({ file, changes }: Mistake): Promise<Adapters> {
  const entry = join(import.meta.dirname, 'adapters.ts')
  const planted = changes.map(([find, replace]) => ({ file: `adapters/${file}`, find, replace }))
  const [loaded] = await loadPlanted<{ adapters: Adapters }>(entry, planted)
  return loaded.adapters
}
