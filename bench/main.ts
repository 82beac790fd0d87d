/**
 * Measures Reprise beside bare handlers and beside its peers.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { chartOf } from './chart.ts'
import { count } from './count.ts'
import { judge } from './goals.ts'
import { grow } from './growth.ts'
import { growthCharts } from './growth-charts.ts'
import { hotKey } from './hot-key.ts'
import { importCosts } from './imports.ts'
import { compare } from './measure.ts'
import { memoryUse } from './memory.ts'
import { reaping } from './reaping.ts'
import type { Results } from './results.ts'
import { type Mode, readSettings, type Settings, USAGE, UsageError } from './settings.ts'
import { sizes } from './sizes.ts'
import { tablesOf } from './table.ts'
import { isPeer, MEASUREMENTS, type Measurement, ROOMY, ROOMY_FLAGS } from './variants.ts'
import { openWorld, type World } from './world.ts'

const FOLDER = import.meta.dirname
const RESULTS = join(FOLDER, 'results')

/** What was saved of each kind of run. */
const FILES: Readonly<Record<Mode, string>> = {
  ...{ variants: 'latest.json', growth: 'growth.json', reaping: 'reaping.json' },
  memory: 'memory.json',
}

/** What is asked for one key a thousand times. */
const HOT = ['express/transaction', 'express/lease-redis']

/** What is measured besides variants. */
const REST = ['young-generation', 'hot-key', 'sizes', 'imports']

let isInterrupted = false

try {
  const settings = readSettings(process.argv.slice(2))
  if (settings === undefined) console.log(USAGE)
  else if (settings.isDrawn) await draw()
  else await bench(settings)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`${error.message}\n\n${USAGE}`)
  process.exitCode = 2
}

async function bench(settings: Settings): Promise<void> {
  chosen(settings)
  const startedAt = performance.now()
  // Waiting for a database server to end does not keep a process alive.
  const awake = setInterval(() => {}, 1000)
  process.once('SIGINT', () => {
    isInterrupted = true
    console.error('\nNo more variants after this one; once more to end at once.')
  })
  const world = await openWorld()
  const results = await emptyResults(world, settings)
  try {
    await measure(world, results)
  } finally {
    progress('')
    await world.close()
    clearInterval(awake)
  }
  console.log(tablesOf(results))
  for (const { variant, reason } of results.skipped)
    console.log(`\nNot measured: ${variant}: ${reason}`)
  const file = await write(results)
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
  const failed = judge(results).filter(({ verdict }) => verdict === 'FAIL').length
  console.log(`\n${minutes} minutes; ${failed} goals are not met. The raw data is in ${file}.`)
}

async function measure(world: World, results: Results): Promise<void> {
  const { settings } = results
  switch (settings.mode) {
    case 'growth':
      results.growth = await grow({ world, settings, progress })
      return
    case 'reaping':
      results.reaping = await reaping(world, settings, progress)
      return
    case 'memory':
      results.memory = await memoryUse(world, settings, progress)
      return
    case 'variants':
  }
  const wanted = chosen(settings)
  for (const [index, measurement] of wanted.entries()) {
    if (isInterrupted) break
    progress(`${index + 1}/${wanted.length} ${measurement.workload} ${measurement.variant}`)
    await measureOne(world, measurement, results)
  }
  await measureRest(world, results)
}

/** @throws UsageError when nothing has such a name */
function chosen({ only }: Settings): readonly Measurement[] {
  const wanted = MEASUREMENTS.filter(
    ({ variant }) => only.length === 0 || only.some((text) => variant.includes(text)),
  )
  if (wanted.length > 0 || only.some((text) => REST.includes(text))) return wanted
  const names = [...new Set(MEASUREMENTS.map(({ variant }) => variant)), ...REST]
  throw new UsageError(`No variant is named ${only.join(', ')}. There are: ${names.join(', ')}.`)
}

async function measureOne(world: World, measurement: Measurement, results: Results) {
  const { variant, workload } = measurement
  const skip = (reason: string) => void results.skipped.push({ variant, reason })
  if (isPeer(variant) && !existsSync(join(FOLDER, 'peers', 'node_modules')))
    return skip('not installed')
  if (variant.includes('redis') && world.redisUrl === undefined) return skip('there is no Redis')
  try {
    const { connections, turns } = results.settings
    results.comparisons.push(...(await compare(world, measurement, { connections, turns })))
    results.counts.push(await count(world, variant, workload))
  } catch (error) {
    skip(error instanceof Error ? error.message : String(error))
  }
}

async function measureRest(world: World, results: Results): Promise<void> {
  const { only, rows, isQuick } = results.settings
  const wants = (name: string) => only.length === 0 || only.includes(name)
  if (wants('young-generation')) await measureRoomy(world, results)
  for (const variant of wants('hot-key') ? HOT : []) {
    if (variant.includes('redis') && world.redisUrl === undefined) continue
    progress(`hot key ${variant}`)
    results.hotKeys.push(await hotKey(world, variant))
  }
  if (wants('sizes')) {
    progress('bytes per record')
    results.sizes = await sizes(world, rows)
  }
  if (wants('imports')) {
    progress('cost of imports')
    results.imports.push(...(await importCosts(isQuick ? 3 : 7)))
  }
}

/** The main comparisons again, with a larger young generation on both sides; no goal judges them. */
async function measureRoomy(world: World, results: Results): Promise<void> {
  const { connections, turns } = results.settings
  const rounds = { connections: [Math.max(...connections)], turns, flags: ROOMY_FLAGS }
  for (const measurement of ROOMY) {
    const { variant } = measurement
    if (isInterrupted) break
    if (variant.includes('redis') && world.redisUrl === undefined) continue
    progress(`larger young generation ${variant}`)
    results.roomy?.push(...(await compare(world, measurement, rounds)))
  }
}

async function emptyResults(world: World, settings: Settings): Promise<Results> {
  const packages = ['express', 'fastify', 'hono', 'koa', 'pg', 'redis']
  const peers: unknown = JSON.parse(await readFile(join(FOLDER, 'peers', 'package.json'), 'utf8'))
  // It is the benchmark's own.
  const { dependencies } = peers as { readonly dependencies: Readonly<Record<string, string>> }
  const versions: Record<string, string> = { ...dependencies }
  for (const name of packages) versions[name] = await versionOf(name)
  return {
    date: new Date().toISOString(),
    machine: {
      ...{ cpu: cpus()[0]?.model ?? '', cores: cpus().length },
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      loadAtStart: Number(loadavg()[0]?.toFixed(1)),
    },
    versions: {
      ...{
        node: process.version,
        postgresql: world.postgresVersion,
        redisServer: world.redisVersion,
      },
      ...versions,
    },
    ...{ settings, comparisons: [], roomy: [], counts: [], hotKeys: [], imports: [], skipped: [] },
    sizes: undefined,
  }
}

async function versionOf(name: string): Promise<string> {
  const path = join(FOLDER, '..', 'node_modules', name, 'package.json')
  // Every package has one.
  return (JSON.parse(await readFile(path, 'utf8')) as { readonly version: string }).version
}

/** What is saved is drawn for the docs as well. Tells where the raw data is. */
async function write(results: Results): Promise<string> {
  const { isSaved, mode } = results.settings
  await mkdir(RESULTS, { recursive: true })
  const file = join(RESULTS, isSaved ? FILES[mode] : 'part.json')
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`)
  if (isSaved) await writeCharts(results)
  return file
}

/** Tables and charts of what was saved before. */
async function draw(): Promise<void> {
  for (const file of Object.values(FILES)) {
    const path = join(RESULTS, file)
    if (!existsSync(path)) continue
    // The benchmark wrote it.
    const results = JSON.parse(await readFile(path, 'utf8')) as Results
    if (!('mode' in results.settings)) {
      console.error(`${file} was written by an older benchmark, and is left as it is.`)
      continue
    }
    console.log(`## ${file}, ${results.date}\n\n${tablesOf(results)}\n`)
    await writeCharts(results)
  }
}

async function writeCharts(results: Results): Promise<void> {
  const { growth, date, settings } = results
  const charts: Record<string, string> =
    growth === undefined ? {} : { ...growthCharts(growth, date) }
  if (settings.mode === 'variants') charts['benchmarks.svg'] = chartOf(results)
  for (const [file, svg] of Object.entries(charts)) {
    await writeFile(join(FOLDER, '..', 'docs', 'images', file), svg)
  }
}

/** What is being done, on one line that is written over where there is a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else if (text !== '') process.stderr.write(`${text}\n`)
}
