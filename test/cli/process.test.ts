/**
 * The program as a process of its own: signals, ports, pipes, kills.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDatabase } from '../support/postgres.ts'
import { cli, project } from './harness.ts'

// Generous: processes start and databases are made, on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000, expect: { poll: { timeout: 60_000 } } })

const folder = mkdtempSync(join(tmpdir(), 'reprise-bin-'))
const program = join(folder, 'reprise.mjs')

beforeAll(async () => {
  await build({
    ...{ configFile: false, logLevel: 'error' },
    build: {
      ...{
        ssr: join(import.meta.dirname, '../../src/cli/main.ts'),
        outDir: folder,
        target: 'node20',
      },
      rolldownOptions: { output: { entryFileNames: 'reprise.mjs' } },
    },
    ssr: { noExternal: true },
  })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const down = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }

interface Started {
  readonly child: ChildProcess
  /** Resolves with stdout once it holds what matches. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves when it is gone. */
  readonly over: Promise<{ code: number | null; stdout: string; stderr: string }>
}

/** Starts the program without a terminal. */
function start(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = project({}, ['pg']),
): Started {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [program, ...argv], {
    cwd,
    env: { PATH, ...env },
    stdio: 'pipe',
  })
  let [stdout, stderr] = ['', '']
  const watchers = new Set<() => void>()
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    for (const look of watchers) look()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const over = once(child, 'close').then(([code]) => ({
    code: code as number | null,
    stdout,
    stderr,
  }))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await over
  })
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(stdout)
        if (found !== null) resolve(found)
      }
      watchers.add(look)
      void over.then(() =>
        reject(new Error(`It ended without ${String(pattern)}: ${stdout}${stderr}`)),
      )
      look()
    })
  return { child, says, over }
}

test('C-06 is plain JavaScript: a bin, no install scripts, no dependencies', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(manifest.bin).toEqual({ reprise: 'dist/cli/main.js' })
  expect(manifest.dependencies ?? {}).toEqual({})
  for (const hook of ['preinstall', 'install', 'postinstall'])
    expect(manifest.scripts).not.toHaveProperty(hook)
  const main = readFileSync(new URL('../../src/cli/main.ts', import.meta.url), 'utf8')
  expect(main.startsWith('#!/usr/bin/env node\n')).toBe(true)
})

test('C-02 C-03 a process without a terminal: exit code, one document, nothing else', async () => {
  const { code, stdout, stderr } = await start(['version', '--json']).over
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toHaveProperty('node')
  const wrong = await start(['nothing']).over
  expect([wrong.code, wrong.stdout]).toEqual([2, ''])
})

test('C-07 without a driver it says what to install', async () => {
  const cwd = project({ 'pnpm-lock.yaml': '' })
  const { code, stderr } = await start(['migrate', 'status'], down, cwd).over
  expect(code).toBe(2)
  expect(stderr).toMatch(/Neither pg nor postgres is installed[\s\S]*pnpm add pg/)
})

describe('C-30 dev', () => {
  test('C-30 C-37 C-38 needs nothing but Node: API, dashboard, replay; send and check agree', async () => {
    const dev = start(['dev', '--port', '0', '--json'])
    await dev.says(/\n\}\n/)
    const [text = ''] = await dev.says(/\{[\s\S]*\n\}\n/)
    const { api, dashboard, store } = JSON.parse(text)
    expect(store).toContain('memory')
    expect(new URL(api).hostname).toBe('127.0.0.1')
    expect((await fetch(dashboard)).status).toBe(200)

    const headers = { 'Idempotency-Key': 'k-1', 'Content-Type': 'application/json' }
    const request = { method: 'POST', headers, body: '{"amount":1200}' }
    const first = await fetch(api, request)
    const second = await fetch(api, request)
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.headers.get('Idempotent-Replayed')).toBe('true')
    expect(await second.text()).toBe(await first.text())

    const data = ['-d', '{"amount":1200}']
    for (const argv of [
      ['--times', '3'],
      ['--times', '5', '--parallel'],
      ['--cut', 'before', '--times', '3'],
      ['--cut', 'after'],
      ['--cut', 'mid-body'],
      ['--change-body'],
    ]) {
      const sent = await cli(['send', api, ...data, ...argv, '--json'])
      expect([argv, sent.exit]).toEqual([argv, 0])
      expect(sent.document['distinctEffects'], argv.join(' ')).toBe(1)
    }
    const changed = await cli(['send', api, ...data, '--change-body', '--json'])
    expect(changed.document).toMatchObject({
      attempts: [{}, { isReplayed: true }, { status: 422 }],
    })

    const other = ['-H', 'Authorization: a', '--other', 'Authorization: b']
    const checked = await cli(['check', api, ...data, ...other, '--required', '--json'])
    expect(checked.document).toMatchObject({ failures: 0 })
    expect(checked.exit).toBe(0)
    dev.child.kill('SIGTERM')
    expect((await dev.over).code).toBe(0)
  })

  test('C-30 keys open, send, send again, kill, tell and quit', async () => {
    let output = ''
    const opened: string[] = []
    let press = (_key: string) => {}
    let over: ReturnType<typeof cli> | undefined
    await new Promise<void>((resolve) => {
      over = cli(['dev', '--port', '0'], {
        ...{ program, typed: [], onOpen: (url) => opened.push(url) },
        onKeys(listener) {
          press = listener
          resolve()
        },
        onOutput(text) {
          output += text
        },
      })
    })
    const said = async (pattern: RegExp) => {
      await expect.poll(() => output).toMatch(pattern)
    }

    press('s')
    await said(/POST key dev-\S+: 201 in /)
    const key = /POST key (dev-[\w-]+)/.exec(output)?.[1]
    press('d')
    await said(new RegExp(`POST key ${key}: 201 replayed`))
    press('o')
    expect(output).toContain(opened[0] ?? 'nothing was opened')
    press('?')
    press('x')
    expect(output.match(/Keys: o open dashboard/g)).toHaveLength(2)
    press('k')
    await said(/the sample API is gone/)
    press('q')
    expect((await over)?.exit).toBe(0)
  })

  test('C-37 asks again while the first is in progress', async () => {
    let asked = 0
    const busy = createHttpServer((_, response) => {
      response.statusCode = ++asked < 4 ? 409 : 201
      response.end('{"id":1}')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void busy.close())
    await once(busy, 'listening')
    const address = busy.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const { document, exit } = await cli(['send', `http://127.0.0.1:${port}`, '--json'])
    expect([exit, document['distinctEffects'], asked]).toEqual([0, 1, 4])
  })

  test('C-31 a port that was asked for and is taken is an error that names who asked; else the next', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const address = holder.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    try {
      const asked = await start([
        'dashboard',
        '--port',
        port,
        '--database-url',
        'postgres://a@127.0.0.1:1/b',
      ]).over
      expect(asked.code).toBe(1)
      expect(asked.stderr).toContain('flag --port')
      const variable = await start(['dashboard', '--database-url', 'postgres://a@127.0.0.1:1/b'], {
        REPRISE_PORT: port,
      }).over
      expect(variable.stderr).toContain('env REPRISE_PORT')
    } finally {
      holder.close()
    }
    const [one, two] = [start(['dashboard'], down), start(['dashboard'], down)]
    const [[, first], [, second]] = await Promise.all([one.says(/:(\d+)\n/), two.says(/:(\d+)\n/)])
    expect(first).not.toBe(second)
  })
})

describe('C-33 a store that is down', () => {
  test('C-33 the dashboard opens, says what is wrong, and heals by itself', async () => {
    const database = await temporaryDatabase()
    const running = start(['dashboard', '--port', '0'], { DATABASE_URL: database.url })
    const [, url = ''] = await running.says(/dashboard +(\S+)\n/)
    const page = await fetch(url)
    expect(page.status).toBe(503)
    await expect.poll(async () => (await fetch(url)).text()).toContain('npx reprise migrate up')
    const world = { env: { DATABASE_URL: database.url } }
    expect((await cli(['migrate', 'up'], world)).exit).toBe(0)
    await expect.poll(async () => (await fetch(url)).status).toBe(200)
    const foreign = await fetch(url, { headers: { Host: 'evil.example' } }).catch(() => undefined)
    if (foreign !== undefined) expect([200, 421]).toContain(foreign.status)
    running.child.kill('SIGINT')
    await running.over
    await database.drop()
  })

  test.each(['dev', 'dashboard'])('C-33 %s --no-retry ends with 5', async (name) => {
    const { code, stderr } = await start([name, '--no-retry', '--port', '0'], down).over
    expect([code, stderr.includes('REPRISE_E_UNREACHABLE')]).toEqual([5, true])
  })

  test('C-32 others than this machine need a password', async () => {
    const { code, stderr } = await start(['dashboard', '--host', '0.0.0.0', '--port', '0'], down)
      .over
    expect([code, stderr.includes('--token')]).toEqual([6, true])
  })
})

test('C-40 demo: one charge for each key, whatever is killed', async () => {
  const { code, stdout, stderr } = await start(['demo', '--headless', '--rounds', '8', '--json'])
    .over
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({
    charges: 8,
    distinctKeys: 8,
    unanswered: 0,
    isRight: true,
  })
})

test('C-34 a worker ends in good order on SIGTERM, as a process', async () => {
  const database = await temporaryDatabase()
  const env = { DATABASE_URL: database.url }
  await cli(['migrate', 'up'], { env })
  const worker = start(['worker', '--json'], env)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const beats = async () => (await client.query('select worker from reprise.workers')).rowCount
  await expect.poll(beats).toBeGreaterThan(1)
  await client.end()
  worker.child.kill('SIGTERM')
  const { code, stdout } = await worker.over
  expect([code, JSON.parse(stdout)]).toEqual([0, { done: expect.any(Object) }])
  await database.drop()
})
