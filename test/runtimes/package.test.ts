/**
 * The package as it is built, in an app of each runtime: found by its name and its `exports`.
 *
 * @module
 */

import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { build } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { notRun } from '../support/not-run.ts'
import { programOf, type RuntimeName } from './programs.ts'

const root = join(import.meta.dirname, '../..')
const manifest: { readonly exports: Readonly<Record<string, unknown>> } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)
const all = Object.keys(manifest.exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => subpath.replace('.', 'reprise'))

/** What docs/runtimes.md claims for workerd; the others load all. */
const onWorkerd: readonly string[] = [
  ...['reprise', 'reprise/client', 'reprise/client/form', 'reprise/dialects', 'reprise/fetch'],
  ...['reprise/form-field', 'reprise/hono', 'reprise/memory', 'reprise/once', 'reprise/openapi'],
  ...['reprise/phases', 'reprise/published-policy', 'reprise/telemetry', 'reprise/webhooks'],
]

/** What an app sees: the status of each answer, and whether it is a replay. */
const EXPECTED = [
  [201, null, 3000],
  [201, 'true', 3000],
  [422, null, null],
]

/** An app that asks itself for the same, for the same again, and for something else with the same key. */
function appOf(subpaths: readonly string[]): string {
  const imports = subpaths.map((subpath) => `import ${JSON.stringify(subpath)}`)
  return `${imports.join('\n')}
import { createReprise, memoryStore } from 'reprise'
import { idempotent } from 'reprise/fetch'

const reprise = createReprise({ store: memoryStore(), replayCache: false })
const handler = idempotent(reprise, { caller: () => 'acct_1' }, async (request) => {
  await request.text()
  return new Response('x'.repeat(3000), { status: 201 })
})

export async function answers() {
  const results = []
  for (const body of ['one', 'one', 'two']) {
    const headers = { 'Idempotency-Key': 'key-1', 'Content-Type': 'text/plain' }
    const request = new Request('http://127.0.0.1/', { method: 'POST', headers, body })
    const response = await handler(request)
    const text = await response.text()
    const size = response.status === 201 ? text.length : null
    results.push([response.status, response.headers.get('Idempotent-Replayed'), size])
  }
  return results
}
`
}

let app: string

beforeAll(async () => {
  if (!existsSync(join(root, 'dist'))) throw new Error('Run `npm run build` first.')
  app = mkdtempSync(join(tmpdir(), 'reprise-app-'))
  await mkdir(join(app, 'node_modules'))
  symlinkSync(root, join(app, 'node_modules/reprise'))
  writeFileSync(join(app, 'package.json'), '{ "name": "app", "type": "module" }')
})

afterAll(() => rmSync(app, { recursive: true, force: true }))

/** Has a test for the runtime, or puts it on the list of what did not run. */
async function testOn(
  name: RuntimeName,
  ask: (program: string) => Promise<unknown>,
): Promise<void> {
  const program = await programOf(name)
  const isMissing =
    'missing' in program &&
    notRun({ suite: `test/runtimes/package.test.ts: ${name}`, reason: program.missing })
  it.skipIf(isMissing)(`runs, replays and refuses on ${name}`, async () => {
    if ('path' in program) expect(await ask(program.path)).toEqual(EXPECTED)
  })
}

/** What a program prints that runs the app. */
async function printed(program: string, args: readonly string[]): Promise<unknown> {
  writeFileSync(join(app, 'app.js'), appOf(all))
  const main = `import { answers } from './app.js'; console.log(JSON.stringify(await answers())); process.exit(0)`
  writeFileSync(join(app, 'main.js'), `import process from 'node:process'; ${main}`)
  const { stdout } = await promisify(execFile)(program, [...args, 'main.js'], { cwd: app })
  return JSON.parse(stdout)
}

/** What workerd answers, with the app in one file as Cloudflare's tools make it. */
async function served(program: string): Promise<unknown> {
  writeFileSync(join(app, 'worker-app.js'), appOf(onWorkerd))
  const worker = `import { answers } from './worker-app.js'
    export default { fetch: async () => Response.json(await answers()) }`
  writeFileSync(join(app, 'worker.js'), worker)
  await build({
    input: join(app, 'worker.js'),
    platform: 'browser',
    external: /^node:/,
    treeshake: { moduleSideEffects: true },
    resolve: { conditionNames: ['workerd', 'worker', 'browser', 'import', 'default'] },
    output: { file: join(app, 'built.js'), format: 'esm', codeSplitting: false },
  })
  writeFileSync(join(app, 'config.capnp'), CONFIG)
  const args = ['serve', '--control-fd=3', 'config.capnp', 'config']
  const child = spawn(program, args, { cwd: app, stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  try {
    // Asked for as a pipe above.
    const input = child.stdio[3] as NodeJS.ReadableStream
    for await (const line of createInterface({ input })) {
      const { port } = JSON.parse(line)
      return await (await fetch(`http://127.0.0.1:${port}/`)).json()
    }
    throw new Error('workerd did not start.')
  } finally {
    child.kill()
  }
}

const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "built.js", esModule = embed "built.js")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat"],
);
`

describe('the package as it is built', async () => {
  await testOn('bun', (program) => printed(program, []))
  await testOn('deno', (program) => printed(program, ['run', '--allow-all']))
  await testOn('workerd', served)
})
