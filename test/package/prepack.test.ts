/**
 * What is packed has code in it: it is built first where it has to be, and only there.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** A package whose build takes no time, with the same script before it is packed. */
async function tinyPackage(build: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-prepack-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'src'))
  await mkdir(join(folder, 'scripts'))
  await cp(join(root, 'scripts/prepack.mjs'), join(folder, 'scripts/prepack.mjs'))
  await writeFile(join(folder, 'src/index.ts'), 'export const a = 1\n')
  await writeFile(join(folder, 'build.mjs'), build)
  const scripts = { build: 'node build.mjs', prepack: manifest.scripts.prepack }
  const text = JSON.stringify({ name: 'tiny', version: '1.0.0', files: ['dist'], scripts })
  await writeFile(join(folder, 'package.json'), text)
  return folder
}

const BUILD = `import { appendFileSync, cpSync, rmSync } from 'node:fs'
rmSync('dist', { recursive: true, force: true })
cpSync('src/index.ts', 'dist/index.d.ts')
cpSync('src/index.ts', 'dist/package.json')
appendFileSync('built.log', 'x')`

async function pack(cwd: string): Promise<readonly string[]> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd })
  // The whole of it is one document: what is built says nothing there.
  return JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path)
}

test('is built where nothing is, or where a source is newer, and else left alone', async () => {
  const cwd = await tinyPackage(BUILD)
  const builds = () => readFileSync(join(cwd, 'built.log'), 'utf8').length

  expect(await pack(cwd)).toContain('dist/package.json')
  await pack(cwd)
  expect(builds()).toBe(1)
  await utimes(join(cwd, 'dist/index.d.ts'), 0, 0)
  await pack(cwd)
  expect(builds()).toBe(2)
  await writeFile(join(cwd, 'dist/gone.d.ts'), '')
  expect(await pack(cwd)).not.toContain('dist/gone.d.ts')
})

test('is not packed when the build fails', async () => {
  const cwd = await tinyPackage('process.exit(1)')
  await expect(pack(cwd)).rejects.toThrow('nothing to pack')
  expect(existsSync(join(cwd, 'tiny-1.0.0.tgz'))).toBe(false)
})
