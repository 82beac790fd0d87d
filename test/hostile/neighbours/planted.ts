/**
 * The adapters with a mistake planted into the source: bundled with one place changed, and loaded.
 *
 * @module
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
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
  const folder = mkdtempSync(join(tmpdir(), 'reprise-neighbours-'))
  const path = join(import.meta.dirname, '../../../src/adapters', file)
  const planting: Plugin = {
    name: 'planted mistake',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path: loaded }) => {
        if (loaded !== path) return undefined
        const contents = changes.reduce(changed, readFileSync(path, 'utf8'))
        return { contents, loader: 'ts' }
      })
    },
  }
  try {
    const outfile = join(folder, 'adapters.mjs')
    await build({
      ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
      ...{ logLevel: 'silent', plugins: [planting] },
      entryPoints: [join(import.meta.dirname, 'adapters.ts')],
    })
    // It is the bundle of that very module.
    const module = (await import(pathToFileURL(outfile).href)) as { adapters: Adapters }
    return module.adapters
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Replaces the one place; a place that is not there any more is an error, and so are two. */
function changed(source: string, [find, replace]: Mistake['changes'][number]): string {
  const places = source.split(find).length - 1
  if (places !== 1) throw new Error(`There are ${places} places to plant the mistake in: ${find}`)
  return source.replace(find, () => replace)
}
