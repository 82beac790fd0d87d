/**
 * Starts a runtime, has it run its test files, and collects what it tells.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { bundleFor } from './bundle.ts'
import { DOORS } from './inside/workerd-doors.ts'
import type { Job, Line } from './report.ts'

/** What a runtime told, and what it wrote besides. */
export interface Report {
  readonly lines: readonly Line[]
  /** The end of what it wrote to the console, for a runtime that ended too early. */
  readonly written: string
}

/** What costs time and shows nothing of a runtime: many histories, and files that are flushed to a disk. */
const env = {
  ...process.env,
  REPRISE_HISTORIES: '20',
  ...(existsSync('/dev/shm') && { TMPDIR: '/dev/shm' }),
}

/** Runs the files of Bun or Deno in a process of its own. */
export async function runProcess(
  name: 'bun' | 'deno',
  [program, ...args]: readonly [string, ...string[]],
  job: Job,
): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), `reprise-${name}-`))
  const [jobFile, lineFile] = [join(folder, 'job'), join(folder, 'lines')]
  writeFileSync(jobFile, JSON.stringify(job))
  writeFileSync(lineFile, '')
  try {
    const main = join(await bundleFor(name), 'main.mjs')
    const child = spawn(program, [...args, main, jobFile, lineFile], { env })
    const written = writtenBy(child)
    const [code] = await once(child, 'close')
    const lines = readFileSync(lineFile, 'utf8').trim().split('\n').filter(Boolean)
    return { lines: lines.map(parsed), written: `${written()}\nIt ended with code ${code}.` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A workerd that serves. */
export interface Workerd {
  /** By the names of the sockets. */
  readonly ports: Readonly<Record<string, number>>
  run(job: Job): Promise<Report>
  stop(): Promise<void>
}

const doors = Array.from({ length: DOORS }, (_, number) => `door${number}`)
const SOCKETS: readonly string[] = ['run', ...doors, 'cutFetch', 'cutHono']

/** Starts workerd with the worker that runs the files. */
export async function startWorkerd(program: string): Promise<Workerd> {
  const folder = await bundleFor('workerd')
  writeFileSync(join(folder, 'config.capnp'), config())
  const args = ['serve', '--control-fd=3', 'config.capnp', 'config']
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  const written = writtenBy(child)
  const ports = await portsOf(child, written)
  return {
    ports,
    async run(job) {
      const body = JSON.stringify({ ...job, ports: doors.map((name) => ports[name]) })
      const response = await fetch(`http://127.0.0.1:${ports['run']}/`, { method: 'POST', body })
      const text = await response.text()
      return { lines: text.trim().split('\n').map(parsed), written: written() }
    },
    async stop() {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

function config(): string {
  const sockets = SOCKETS.map((name) => {
    const service = name === 'run' ? '"main"' : `(name = "main", entrypoint = "${name}")`
    return `(name = "${name}", address = "127.0.0.1:0", http = (), service = ${service})`
  })
  // The tests ask their own apps, over the machine's own network.
  return `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["local", "private"])),
  ],
  sockets = [${sockets.join(', ')}],
);
const main :Workerd.Worker = (
  modules = [(name = "main.mjs", esModule = embed "main.mjs")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat"],
);
`
}

/** Waits until each socket listens. */
async function portsOf(child: ChildProcess, written: () => string): Promise<Workerd['ports']> {
  // Asked for as a pipe above.
  const control = createInterface({ input: child.stdio[3] as Readable })
  const ports: Record<string, number> = {}
  for await (const line of control) {
    const { socket, port } = JSON.parse(line)
    if (socket !== undefined) ports[socket] = port
    if (SOCKETS.every((name) => name in ports)) return ports
  }
  throw new Error(`workerd did not start:\n${written()}`)
}

function writtenBy({ stdout, stderr }: ChildProcess): () => string {
  let text = ''
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-4000)
    })
  }
  return () => text
}

function parsed(line: string): Line {
  // The runner inside writes nothing else.
  return JSON.parse(line) as Line
}
