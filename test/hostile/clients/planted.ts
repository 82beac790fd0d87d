/**
 * Bugs that hostile clients are there to find. Each is a change of one place in the source; the apps
 * are bundled with it and loaded.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import type { Playground } from './run.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** A bug. */
export interface Planted {
  /** What is wrong, in words. */
  readonly what: string
  /** A file below `src/adapters`. */
  readonly file: string
  readonly find: string
  readonly replace: string
  /** It is found within so many seeds, from 1 on. */
  readonly seeds: number
}

/** Every planted bug. */
export const PLANTED: readonly Planted[] = [
  {
    what: 'the connection shows that the client has ended its side, and Express 5 parses no body',
    file: 'node-shelter.ts',
    find: 'if (chunk !== null || !this.#isOccupied) return',
    replace: 'return',
    seeds: 60,
  },
  {
    what: 'a stream of HTTP/2 that was cut off counts as whole',
    file: 'node-body.ts',
    find: 'return stream === undefined ? complete : isWholeStream(stream)',
    replace: 'return complete || stream?.readableEnded === true',
    seeds: 60,
  },
  {
    what: 'a body counts as whole as soon as its first piece has come',
    file: 'node-body.ts',
    find: 'if (!isComplete(request)) return\n      stop()',
    replace: 'if (chunks.length === 0 && !isComplete(request)) return\n      stop()',
    seeds: 60,
  },
  {
    what: 'what the client does reaches the request while its handler works',
    file: 'node-shelter.ts',
    find: 'return [...this.#guests].some(({ request }) => isComplete(request))',
    replace: 'return false',
    seeds: 60,
  },
  {
    what: 'Fastify calls the handler after a refusal, because the client of HTTP/2 has gone',
    file: 'fastify-reply.ts',
    find: "if (start === 'answered' && !reply.raw.writableEnded) reply.hijack()",
    replace: '',
    seeds: 120,
  },
]

/** The playground with a bug in what it plays on. */
export async function withPlanted(planted: Planted): Promise<typeof Playground> {
  // Packages are found from below the folder that has them.
  const cache = join(ROOT, 'node_modules', '.reprise-planted')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'clients-'))
  try {
    const outfile = join(folder, 'run.mjs')
    await build({
      ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
      ...{ packages: 'external', logLevel: 'silent', plugins: [plugin(planted)] },
      entryPoints: [join(import.meta.dirname, 'run.ts')],
    })
    // It is the bundle of that very module.
    const loaded = (await import(pathToFileURL(outfile).href)) as { Playground: typeof Playground }
    return loaded.Playground
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Replaces the one place; a place that is not there any more is an error, and so are two. */
function plugin({ file, find, replace }: Planted): Plugin {
  const path = join(ROOT, 'src', 'adapters', file)
  return {
    name: 'planted bug',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path: loaded }) => {
        if (loaded !== path) return undefined
        const source = readFileSync(path, 'utf8')
        const places = source.split(find).length - 1
        if (places !== 1) throw new Error(`${file} has ${places} places to plant the bug in.`)
        return { contents: source.replace(find, () => replace), loader: 'ts' }
      })
    },
  }
}
