/**
 * The chaos run without a browser: `npm run demo:headless -- --seed 7 --rounds 200`. Ends with 0 only
 * if the provider has one charge for each key, or a person was asked about it.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { type ChaosResult, runChaos } from './page/chaos.ts'

const USAGE = `Usage: npm run demo:headless -- [--seed 7] [--rounds 200] [--url http://127.0.0.1:3000]

Without --url it starts a server of its own, on an empty database, and ends it afterwards.`

interface Asked {
  readonly seed: number
  readonly rounds: number
  readonly url: string | undefined
}

/** Reads the arguments; `undefined` when they are wrong. */
function readArguments(): Asked | undefined {
  try {
    const { values } = parseArgs({
      options: { seed: { type: 'string' }, rounds: { type: 'string' }, url: { type: 'string' } },
    })
    const seed = Number(values.seed ?? '7')
    const rounds = Number(values.rounds ?? '200')
    const isWhole = Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32
    const isCount = Number.isInteger(rounds) && rounds >= 1 && rounds <= 10_000
    return isWhole && isCount ? { seed, rounds, url: values.url } : undefined
  } catch {
    return undefined
  }
}

/** A server of our own. */
interface OwnServer {
  readonly url: string
  stop(): Promise<void>
}

async function startServer(): Promise<OwnServer> {
  const directory = mkdtempSync(join(tmpdir(), 'reprise-headless-'))
  const file = join(import.meta.dirname, '../server/main.ts')
  const child = spawn(process.execPath, [...process.execArgv, file], {
    env: { ...process.env, REPRISE_DATA: directory, REPRISE_DEMO: '1', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    return { url: await urlOf(child), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Resolves with the address when the server says it. */
async function urlOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('The server has no output.')
  const url = await new Promise<string | undefined>((resolve) => {
    const lines = createInterface(stdout)
    // All lines are read, also those that nobody needs: a full pipe would hold the server up.
    lines.on('line', (line) => {
      const found = /^Reprise serves on (\S+)$/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    lines.on('close', () => resolve(undefined))
  })
  if (url === undefined) throw new Error('The server did not start.')
  return url
}

/** Prints what happened. */
function tell({ faults, attempts, crashes, unanswered, tally, isExactlyOnce }: ChaosResult): void {
  const rows = [
    ['fault', 'payments', 'attempts', 'unanswered'],
    ...faults.map((each) => [
      each.fault || 'none',
      ...[each.payments, each.attempts, each.unanswered].map(String),
    ]),
    ['all', String(tally.keys), String(attempts), String(unanswered)],
  ]
  for (const [name = '', ...cells] of rows) {
    console.log(name.padEnd(22) + cells.map((cell) => cell.padStart(12)).join(''))
  }
  const { keys, charges, duplicates, deadLetters } = tally
  console.log(
    `\nkeys ${keys} · crashes ${crashes} · charges ${charges} · duplicates ${duplicates} · dead letters ${deadLetters}`,
  )
  for (const key of tally.unaccounted) console.log(`not exactly one charge: ${key}`)
  console.log(isExactlyOnce ? 'One charge for each key.' : 'NOT one charge for each key.')
}

const asked = readArguments()
if (asked === undefined) {
  console.error(USAGE)
  process.exit(2)
}
const { seed, rounds } = asked
const own = asked.url === undefined ? await startServer() : undefined
const interrupted = () => void own?.stop().finally(() => process.exit(130))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
try {
  const base = (asked.url ?? own?.url ?? '').replace(/\/$/, '')
  console.log(`${rounds} payments at ${base}, seed ${seed}\n`)
  const prefix = `headless-${seed}-${Date.now().toString(36)}-`
  const result = await runChaos({ base, seed, rounds, prefix })
  tell(result)
  process.exitCode = result.isExactlyOnce ? 0 : 1
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await own?.stop()
}
