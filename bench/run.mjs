/**
 * Bundles the benchmark into plain JavaScript and runs it: nothing is compiled while it measures, and
 * the servers run the same code as the built package. `npm run bench -- --help` says more.
 */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const folder = import.meta.dirname
const root = join(folder, '..')
const built = join(folder, '.built')

const measures = !process.argv.includes('--help') && !process.argv.includes('--draw')
// The cost of an import is that of the package as it is published.
if (measures) run(process.execPath, [join(root, 'scripts', 'prepack.mjs')])
if (measures && !existsSync(join(folder, 'peers', 'node_modules'))) {
  console.error('The peers are not installed, so they are left out.')
  console.error('To have them: npm ci --prefix bench/peers\n')
}

rmSync(built, { recursive: true, force: true })
await build({
  entryPoints: ['main.ts', 'servers/main.ts', 'servers/reaper.ts', 'servers/sender.ts'].map(
    (file) => join(folder, file),
  ),
  ...{ outdir: built, outbase: folder, outExtension: { '.js': '.mjs' } },
  ...{ bundle: true, format: 'esm', platform: 'node', target: 'node20', packages: 'external' },
  ...{ tsconfig: join(root, 'tsconfig.json'), logLevel: 'warning', sourcemap: 'linked' },
  // Where the guardian of the database servers lies.
  define: { 'import.meta.dirname': JSON.stringify(folder) },
  plugins: [
    {
      name: 'guardian',
      setup({ onLoad }) {
        // It is found beside its module, which is here in another place.
        onLoad({ filter: /scripts[\\/]servers[\\/]guarded\.ts$/ }, async ({ path }) => {
          const { readFile } = await import('node:fs/promises')
          const { pathToFileURL } = await import('node:url')
          const text = await readFile(path, 'utf8')
          const url = JSON.stringify(pathToFileURL(path).href)
          return { contents: text.replaceAll('import.meta.url', url), loader: 'ts' }
        })
      },
    },
  ],
})
// Interrupted, the benchmark brings what it has to an end, and so does this.
process.on('SIGINT', () => {})
const args = [join(built, 'main.mjs'), ...process.argv.slice(2)]
const bench = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })
const [status] = await once(bench, 'exit')
process.exitCode = status ?? 1

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
