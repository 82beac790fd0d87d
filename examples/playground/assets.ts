/**
 * The files of the page. Its TypeScript is served without its types, under the names that it imports
 * its parts by.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { type Pages, plain } from '../server/site/reply.ts'

const FOLDER = join(import.meta.dirname, 'page')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
}

/** `/`, and `/playground/…` for everything that it loads. */
export function pageAssets(): Pages {
  const names = readdirSync(FOLDER).filter((name) => extname(name) in TYPES)
  const modules = names.filter((name) => name.endsWith('.ts'))
  // Done for the first who looks at the page: a server that is killed and started again is quick.
  let stripped: Promise<Readonly<Record<string, string>>> | undefined
  const contentOf = async (name: string) => {
    if (!modules.includes(name)) return sourceOf(name)
    stripped ??= stripTypes(modules)
    return (await stripped)[name] ?? ''
  }
  const entries = names.map((name): [string, Pages[string]] => {
    const path = name === 'index.html' ? '/' : `/playground/${name}`
    return [`GET ${path}`, async () => plain(await contentOf(name), TYPES[extname(name)])]
  })
  return Object.fromEntries(entries)
}

function sourceOf(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8')
}

/** Without types, by name. */
async function stripTypes(names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  // Nobody else waits for the compiler to be loaded.
  const { transform } = await import('esbuild')
  const strip = async (name: string): Promise<[string, string]> => {
    const { code } = await transform(sourceOf(name), { loader: 'ts', target: 'es2022' })
    return [name, code]
  }
  return Object.fromEntries(await Promise.all(names.map(strip)))
}
