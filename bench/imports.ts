/**
 * What importing the package costs, for each of its subpaths, as it is published.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { median } from './measure.ts'

/** Milliseconds of an import, in a process that has imported nothing. */
export interface ImportCost {
  readonly subpath: string
  readonly ms: number
  /** CPU time of it, which a busy machine changes less. */
  readonly cpuMs: number
}

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..')

/** What an app imports: the engine, an adapter, a store. */
export const TYPICAL = ['.', './express', './postgres'] as const

/** Measures every subpath that can be imported alone, and the three that an app needs together. */
export async function importCosts(times: number): Promise<ImportCost[]> {
  const manifest: unknown = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  // It is the package's own.
  const { exports } = manifest as { readonly exports: Readonly<Record<string, Target>> }
  const files = Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === 'string' ? [] : [[subpath, target.import.node] as const],
  )
  const costs: ImportCost[] = []
  const together = files.filter(([subpath]) => TYPICAL.some((one) => one === subpath))
  const ofTypical = together.map(([, file]) => file)
  costs.push({ subpath: TYPICAL.join(' + '), ...(await costOf(ofTypical, times)) })
  for (const [subpath, file] of files) costs.push({ subpath, ...(await costOf([file], times)) })
  return costs
}

/** What `exports` of the manifest says of a subpath. */
type Target = string | { readonly import: { readonly node: string } }

type Cost = Omit<ImportCost, 'subpath'>

async function costOf(files: readonly string[], times: number): Promise<Cost> {
  const urls = files.map((file) => pathToFileURL(join(ROOT, file)).href)
  const code = `const [t, cpu] = [performance.now(), process.cpuUsage()]
    await Promise.all(${JSON.stringify(urls)}.map((url) => import(url)))
    const { user, system } = process.cpuUsage(cpu)
    console.log(JSON.stringify({ ms: performance.now() - t, cpuMs: (user + system) / 1000 }))`
  const found: Cost[] = []
  for (let time = 0; time < times; time++) {
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code])
    // The line above writes it.
    found.push(JSON.parse(stdout) as Cost)
  }
  return {
    ms: median(found.map(({ ms }) => ms)),
    cpuMs: median(found.map(({ cpuMs }) => cpuMs)),
  }
}
