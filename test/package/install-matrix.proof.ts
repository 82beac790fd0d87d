/**
 * The package installed beside old and new majors of everything that it works with: into real apps, by
 * plain `npm install` of the tarball, and then used there.
 *
 * The apps are folders with a manifest and a lock file; their packages come from npm's cache where it
 * has them. Packages that have to be compiled, or that need a newer Node, are only resolved.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SUPPORTED } from '../../src/core/versions.ts'
import { natsUrl, rabbitmqUrl } from '../support/brokers.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import { redisUrl } from '../support/redis.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const apps = join(import.meta.dirname, 'apps')
const [rabbitmq, nats] = [await rabbitmqUrl(), await natsUrl()]
const redis = redisUrl()

/** What of each app is refused at start, and by which words; all else works. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  new: {},
  old: {
    'pg-boss':
      /^reprise-version-unsupported: .* given pg-boss of version 9 or older; it works with pg-boss 10\.4 and later/,
  },
  oldest: {
    '@electric-sql/pglite':
      /^reprise-version-unsupported: .* given @electric-sql\/pglite 0\.1 or older; it works with .* 0\.2 and/,
    hono: /^reprise-version-unsupported: .* given hono of version 2 or older; it works with hono 3\.12 and later/,
    // Koa itself takes no other middleware.
    koa: /app\.use\(\) requires a generator function/,
    pg: /^reprise-version-unsupported: .* given pg of version 7 or older; it works with pg 8\.0\.3 and later/,
    'pg-boss':
      /^reprise-version-unsupported: .* given pg-boss of version 9 or older; it works with pg-boss 10\.4 and later/,
    postgres:
      /^reprise-version-unsupported: .* given postgres of version 2 or older; it works with postgres 3\.0 and later/,
    redis:
      /^reprise-version-unsupported: .* given redis of version 3 or older; it works with redis 4\.7 and later/,
  },
  orms: {},
  relics: {
    axios:
      /^reprise-version-unsupported: .* given axios without getUri\(\); it works with axios 0\.27/,
    fastify: /^reprise-version-unsupported: .* given fastify of version 2 or older; it works with/,
  },
}

/** Packages that no app here can use, and why. */
const UNUSED: ReadonlyMap<string, string> = new Map([
  ['@prisma/client', 'makes its code with a program of its own: npm run orms'],
  ['better-sqlite3', 'has to be compiled: test/conformance/sqlite.better-sqlite3.test.ts'],
])

/** What the matrix leaves out where a server is missing. */
const MISSING: readonly string[] = [
  ...(redis === undefined ? ['redis', 'ioredis', 'bullmq'] : []),
  ...(rabbitmq === undefined ? ['amqplib'] : []),
  ...(nats === undefined ? ['@nats-io/jetstream'] : []),
]

type Dependencies = Readonly<Record<string, string>>

let folder: string
let tarball: string

function dependenciesOf(app: string): Dependencies {
  return JSON.parse(readFileSync(join(app, 'package.json'), 'utf8')).dependencies
}

/** Installs the tarball into a copy of an app; gives all that npm said. */
async function install(name: string, ...further: readonly string[]) {
  const app = join(folder, name)
  await cp(join(apps, name), app, { recursive: true })
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', ...further]
  const { stdout, stderr } = await run('npm', ['install', ...flags, tarball], { cwd: app })
  return { app, said: `${stdout}\n${stderr}` }
}

/** Nothing that npm complains of may be ours. */
function expectNoComplaint(said: string): void {
  const ours = said.split('\n').filter((line) => /ERESOLVE|\breprise\b/.test(line))
  expect(ours).toEqual([])
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reprise-matrix-'))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: root,
  })
  tarball = join(folder, stdout.trim())
})

afterAll(() => rm(folder, { recursive: true, force: true }))

describe('beside the versions that an app has', () => {
  test.concurrent.each(Object.entries(REFUSED))(
    '%s: installs, and is used',
    async (name, refused) => {
      const before = dependenciesOf(join(apps, name))
      const { app, said } = await install(name)
      expectNoComplaint(said)
      const { reprise, ...after } = dependenciesOf(app)
      expect(reprise).toContain(tarball.split('/').at(-1))
      expect(after).toEqual(before)
      expect(await versionsIn(app, Object.keys(before))).toEqual(before)

      const used = await use(app)
      const wrong = Object.entries(used).filter(([one, outcome]) => {
        const words = refused[one] ?? /^works$/
        return !MISSING.includes(one) && !words.test(outcome)
      })
      expect(wrong).toEqual([])
      const known = SUPPORTED.map((row) => row.name).filter((one) => one in before)
      expect(Object.keys(used).sort()).toEqual(known.sort())
    },
  )

  test.concurrent.each(['resolved-old', 'resolved-new'])(
    '%s: is resolved, where nothing can be compiled or run',
    async (name) => {
      const before = dependenciesOf(join(apps, name))
      const { app, said } = await install(name, '--package-lock-only')
      expectNoComplaint(said)
      const { packages } = JSON.parse(readFileSync(join(app, 'package-lock.json'), 'utf8'))
      const resolved = Object.keys(before).map((one) => {
        const { version, name: real } = packages[`node_modules/${one}`]
        return [one, real === undefined ? version : `npm:${real}@${version}`]
      })
      expect(Object.fromEntries(resolved)).toEqual(before)
    },
  )
})

describe('the table of versions', () => {
  test('names as the oldest what the oldest app has that works', () => {
    for (const { name, least } of SUPPORTED) {
      if (UNUSED.has(name)) continue
      const working = Object.entries(REFUSED)
        .filter(([, refused]) => !(name in refused))
        .flatMap(([app]) => dependenciesOf(join(apps, app))[name] ?? [])
      const oldest = working.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))[0]
      expect.soft(`${oldest}.`, name).toMatch(new RegExp(`^${least.replaceAll('.', '\\.')}\\.`))
    }
  })

  test('is tried in each app there is', () => {
    const known = [...Object.keys(REFUSED), 'resolved-new', 'resolved-old', 'smoke.mjs']
    expect(readdirSync(apps).sort()).toEqual(known.sort())
  })
})

async function versionsIn(app: string, names: readonly string[]): Promise<Dependencies> {
  const versions = names.map((name) => {
    const manifest = readFileSync(join(app, 'node_modules', name, 'package.json'), 'utf8')
    return [name, JSON.parse(manifest).version]
  })
  return Object.fromEntries(versions)
}

/** Uses every package of the app through Reprise. */
async function use(app: string): Promise<Readonly<Record<string, string>>> {
  const database = await temporaryDatabase()
  try {
    await cp(join(apps, 'smoke.mjs'), join(app, 'smoke.mjs'))
    const servers = { REDIS_URL: redis, RABBITMQ_URL: rabbitmq, NATS_URL: nats }
    const env = { ...process.env, ...servers, DATABASE_URL: database.url, NO_COLOR: '1' }
    const { stdout } = await run(process.execPath, ['smoke.mjs'], { cwd: app, env })
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  } finally {
    await database.drop()
  }
}
