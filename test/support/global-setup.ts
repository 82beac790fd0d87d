/**
 * Servers for the whole run, started once, and the list of what did not run, printed at its end.
 *
 * @module
 */

import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { isNode22 } from '../stores/sqlite-clients.ts'
import { type FoundChromium, findChromium } from './find-chromium.ts'
import { reportNotRun } from './not-run-report.ts'
import { dropDatabases, dropOrphans, markAlive } from './run-databases.ts'

const ROOT = join(import.meta.dirname, '../..')

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: {
      readonly url: string
      /** What the names of this run's databases begin with. */
      readonly databasePrefix: string
    }
    readonly redis: { readonly url: string } | { readonly missing: string }
    readonly chromium: FoundChromium
    /** File that suites which do not run are written to, one per line. */
    readonly notRunFile: string
  }
}

/** Starts what tests need; returns what ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The dashboard's page is no part of the repository; nothing is done if it is as it was.
  execFileSync(process.execPath, [join(ROOT, 'scripts/page.mjs')])
  const [postgres, redis, chromium] = await Promise.all([
    startPostgres(),
    startRedis(),
    findChromium(),
    installBetterSqlite3(),
  ])
  const databasePrefix = `reprise_test_${process.pid}_${randomBytes(4).toString('hex')}_`
  const notRunFile = join(tmpdir(), `${databasePrefix}not_run`)
  const mark = await markAlive(postgres.url, databasePrefix)
  if (postgres.origin.startsWith('running')) await dropOrphans(postgres.url)
  console.log(
    `PostgreSQL: ${postgres.origin}. Redis: ${'url' in redis ? redis.origin : 'none'}. ` +
      `Chromium: ${'path' in chromium ? chromium.origin : 'none'}.`,
  )

  project.provide('postgres', { url: postgres.url, databasePrefix })
  project.provide('redis', 'url' in redis ? { url: redis.url } : redis)
  project.provide('chromium', chromium)
  project.provide('notRunFile', notRunFile)

  return async () => {
    if (await reportNotRun(notRunFile, Boolean(process.env['CI']))) process.exitCode = 1
    await rm(notRunFile, { force: true })
    await dropDatabases(postgres.url, (name) => name.startsWith(databasePrefix))
    await mark.end()
    await postgres.stop()
    if ('url' in redis) await redis.stop()
  }
}

/** Installs better-sqlite3 where this Node can load it. Its suite finds out whether it is there. */
async function installBetterSqlite3(): Promise<void> {
  if (!isNode22) return
  const script = join(ROOT, 'scripts/install-folder.mjs')
  await promisify(execFile)(process.execPath, [
    script,
    join(ROOT, 'test/stores/better-sqlite3'),
  ]).catch((error) => console.error(`better-sqlite3 is missing: ${error.stderr}`))
}
