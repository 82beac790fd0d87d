/**
 * Programs in one file of plain JavaScript each, because a process that is killed and started again
 * must not compile itself every time.
 *
 * @module
 */

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build, type Plugin, stop } from 'esbuild'

const SERVER = join(import.meta.dirname, '..')

/** Where the bundles lie: inside the project, so that they find its packages. */
const BUILT = join(SERVER, '.built')

/** What a program needs to be run by Node.js with. */
export interface Bundle {
  readonly file: string
  readonly execArgv: readonly string[]
}

/**
 * Bundles a program of the server, in a fraction of a second. Servers that start at the same time on
 * the same sources write the same file, each by one rename, so nobody ever runs half of it.
 *
 * @param source - the program, relative to the server's folder
 */
export async function bundle(source: string): Promise<Bundle> {
  const outfile = join(BUILT, source.replace(/\.ts$/, '.mjs'))
  const { outputFiles } = await build({
    ...{ entryPoints: [join(SERVER, source)], outfile, write: false, logLevel: 'silent' },
    ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20', packages: 'external' },
    ...{ sourcemap: 'linked', sourcesContent: false, plugins: [inPlace] },
  })
  await mkdir(dirname(outfile), { recursive: true })
  for (const { path, contents } of outputFiles) {
    const written = `${path}.${process.pid}`
    await writeFile(written, contents)
    await rename(written, path)
  }
  return { file: outfile, execArgv: ['--enable-source-maps'] }
}

/** Ends the compiler, which would stay for the next bundle; there is none once everything runs. */
export const endBundling = stop

/** Modules of the server find the files beside them where they are, and not beside the bundle. */
const inPlace: Plugin = {
  name: 'in place',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]examples[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const folder = JSON.stringify(dirname(path))
      return { contents: text.replaceAll('import.meta.dirname', folder), loader: 'ts' }
    })
  },
}
