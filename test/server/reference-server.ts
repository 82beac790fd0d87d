/**
 * The reference server as a user starts it, for tests from outside.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { freePort } from '../../scripts/servers/guarded.ts'

const root = join(import.meta.dirname, '../..')

/** A busy machine is no bug. */
export const PATIENCE = { timeout: 90_000, interval: 20 }

/** A server that was started. */
export interface ReferenceServer {
  readonly url: string
  readonly process: ChildProcess
  /** What it printed so far. */
  printed(): string
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>
  get(path: string, init?: RequestInit): Promise<Response>
  ledger(): Promise<Ledger>
  stop(): Promise<void>
}

/** A program that was started. */
export type Program = Pick<ReferenceServer, 'process' | 'printed' | 'exited'>

/** What `/demo/ledger` tells. */
export interface Ledger {
  readonly charges: readonly { id: string; amount: number; idempotency_key: string | null }[]
  readonly receipts: readonly { message_id: string; copies: number }[]
  readonly rides: number
  readonly audit_records: number
  readonly tasks: number
  readonly runs: number
  readonly staged_jobs: number
}

/** Runs a program of the server with nothing of this environment that it would listen to. */
export function run(file: string, env: NodeJS.ProcessEnv): Program {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.execPath, ['--import', 'tsx', `examples/server/${file}`], {
    cwd: root,
    env: { PATH, HOME, TMPDIR, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  // What is printed last is read before the end counts.
  const exited = once(child, 'close').then(([code]) => code)
  return { process: child, printed: () => text, exited }
}

/** Starts the server and waits until it says that it serves. */
export async function startServer(env: NodeJS.ProcessEnv): Promise<ReferenceServer> {
  const port = String(await freePort())
  const data = await makeData()
  const program = run('main.ts', { PORT: port, REPRISE_DATA: data, ...env })
  const stop = async () => {
    program.process.kill('SIGTERM')
    await program.exited
    await removeData(data)
  }
  try {
    const url = await serving(program)
    const get = (path: string, init?: RequestInit) => fetch(`${url}${path}`, init)
    // The shape is what the tests are about.
    const ledger = async () => (await (await get('/demo/ledger')).json()) as Ledger
    return { ...program, url, get, ledger, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The same for one test, with which it ends. */
export async function serverOfTest(env: NodeJS.ProcessEnv): Promise<ReferenceServer> {
  const server = await startServer(env)
  onTestFinished(server.stop)
  return server
}

/** Waits for the line that names the URL. */
export async function serving({ printed, process }: Program): Promise<string> {
  return vi.waitFor(() => {
    const url = /^Reprise serves on (\S+)$/m.exec(printed())?.[1]
    if (url !== undefined && printed().includes('Ctrl-C ends it.')) return url
    if (process.exitCode !== null) throw new Error(`It ended: ${printed()}`)
    throw new Error(`It does not serve yet: ${printed()}`)
  }, PATIENCE)
}

/** A folder for `REPRISE_DATA`, removed with the test. */
export async function temporaryData(): Promise<string> {
  const directory = await makeData()
  onTestFinished(() => removeData(directory))
  return directory
}

function makeData(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'reprise-server-'))
}

function removeData(directory: string): Promise<void> {
  return rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

/** The process that started another one, and looks after it. */
export async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** Ids of the processes that were started by `pid`, and by those, and so on. */
export async function descendantsOf(pid: number): Promise<readonly number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const parents = await Promise.all(all.map(parentOf))
  const found = [pid]
  for (const parent of found) {
    all.forEach((each, index) => {
      if (parents[index] === parent) found.push(each)
    })
  }
  return found.slice(1)
}

/** The processes of the API: the one that serves, and the one that stands by. */
export async function apiProcesses({ process }: ReferenceServer): Promise<readonly number[]> {
  const all = await descendantsOf(process.pid ?? 0)
  const commands = await Promise.all(
    all.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return all.filter((_, index) => commands[index]?.includes('/api.mjs'))
}

/** Whether a process runs; one that has ended and waits to be noticed does not. */
export async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return stat !== '' && !stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')
}

/** Sends a task. */
export function sendTask(server: ReferenceServer, key: string, fault?: string): Promise<Response> {
  return server.get('/tasks', {
    method: 'POST',
    headers: {
      Authorization: 'Bearer sk_test_1',
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
      ...(fault !== undefined && { 'Demo-Fault': fault }),
    },
    body: JSON.stringify({ task_name: 'Buy milk' }),
  })
}

/** Books a ride. */
export function bookRide(server: ReferenceServer, key: string, fault?: string): Promise<Response> {
  return server.get('/rides', {
    method: 'POST',
    headers: {
      Authorization: 'user@example.com',
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
      ...(fault !== undefined && { 'Demo-Fault': fault }),
    },
    body: JSON.stringify({ origin_lat: 1, origin_lon: 2, target_lat: 3, target_lon: 4 }),
  })
}
