/**
 * What is installed apart, when tests need it: packages of a folder of their own, and a browser.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/servers/guarded.ts'
import { findChromium } from './find-chromium.ts'

const run = promisify(execFile)
const INSTALLER = join(import.meta.dirname, '../../scripts/install-folder.mjs')

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-install-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A folder that needs the package `part`, by a version of its own; `source` is where npm finds it. */
function writeFolder(folder: string, source: string, version: string): void {
  const manifest = { name: 'apart', private: true, dependencies: { part: source } }
  const packages = { '': manifest, 'node_modules/part': { version, resolved: source } }
  const lock = { name: 'apart', lockfileVersion: 3, requires: true, packages }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
}

/** A package as npm takes it from a file. */
async function packed(folder: string, version: string): Promise<string> {
  const source = join(folder, version)
  mkdirSync(source)
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name: 'part', version }))
  await run('npm', ['pack', '--silent', '--pack-destination', source], { cwd: source })
  return `file:${join(source, `part-${version}.tgz`)}`
}

describe('the packages of a folder', () => {
  const installed = (folder: string) =>
    JSON.parse(readFileSync(join(folder, 'node_modules/part/package.json'), 'utf8')).version

  test('are installed once by several processes, and anew when the lock file changes', async () => {
    const folder = temporaryFolder()
    const sources = temporaryFolder()
    const install = () => run(process.execPath, [INSTALLER, folder])
    writeFolder(folder, await packed(sources, '1.0.0'), '1.0.0')
    await Promise.all([install(), install(), install()])
    expect(installed(folder)).toBe('1.0.0')

    // What is there as the lock file says is left alone.
    rmSync(join(folder, 'node_modules/part'), { recursive: true })
    await install()
    expect(existsSync(join(folder, 'node_modules/part'))).toBe(false)

    writeFolder(folder, await packed(sources, '2.0.0'), '2.0.0')
    await Promise.all([install(), install()])
    expect(installed(folder)).toBe('2.0.0')
    expect(readdirSync(folder).sort()).toEqual([
      'node_modules',
      'package-lock.json',
      'package.json',
    ])
  })

  test('that cannot be had are named, and nothing is left behind', async () => {
    const folder = temporaryFolder()
    writeFolder(folder, 'http://127.0.0.1:9/part.tgz', '1.0.0')
    const env = {
      ...process.env,
      npm_config_cache: temporaryFolder(),
      npm_config_registry: `http://127.0.0.1:${await freePort()}/`,
    }
    const failed = await run(process.execPath, [INSTALLER, folder], { env }).catch((error) => error)
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('part') })
    expect(readdirSync(folder).sort()).toEqual(['package-lock.json', 'package.json'])
  })
})

describe('Chromium', () => {
  test('is the one that CHROMIUM names, before any other', async () => {
    expect(await findChromium({ CHROMIUM: process.execPath })).toMatchObject({
      path: process.execPath,
    })
  })

  test('that CHROMIUM names and cannot be run is missing, in words', async () => {
    const CHROMIUM = join(temporaryFolder(), 'chromium')
    writeFileSync(CHROMIUM, '', { mode: 0o600 })
    const found = await findChromium({ CHROMIUM })
    expect(found).toEqual({ missing: `CHROMIUM names ${CHROMIUM}, which cannot be run` })
  })

  test('is a program on the PATH that may be run, and missing where there is none', async () => {
    const PATH = temporaryFolder()
    const path = join(PATH, 'chromium')
    writeFileSync(path, '', { mode: 0o600 })
    const env = { PATH, REPRISE_CHROMIUM: 'installed' }
    expect(await findChromium(env)).toEqual({
      missing: 'no Chromium was found; none is installed',
    })
    chmodSync(path, 0o700)
    expect(await findChromium(env)).toMatchObject({ path, origin: 'installed' })
  })
})
