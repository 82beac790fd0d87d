/**
 * How long each page of the admin API takes on a large database: fills a database of its own and prints
 * the 95th percentile of each. With a name the database is kept, and used again the next time.
 *
 * ```sh
 * DATABASE_URL=postgres://… npx tsx scripts/admin-pages.ts 5000000 [name]
 * ```
 *
 * @module
 */

import pg from 'pg'
import { createAdmin } from '../src/admin/index.ts'
import { createReprise } from '../src/index.ts'
import { postgresStore } from '../src/stores/postgres/index.ts'
import { fill } from './admin-fill.ts'

const ROUNDS = 40
const records = Number(process.argv[2] ?? 5_000_000)
const server = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres'
const kept = process.argv[3]
const name = kept ?? `admin_pages_${process.pid}`

const aside = new pg.Pool({ connectionString: server, max: 1 })
const { rowCount } = await aside.query('select from pg_database where datname = $1', [name])
const isNew = rowCount === 0
if (isNew) await aside.query(`create database ${name} template template0`)
const url = new URL(server)
url.pathname = `/${name}`
const pool = new pg.Pool({ connectionString: url.href, max: 4 })
try {
  const store = postgresStore(pool)
  await store.ready()
  if (isNew) await fill(pool, records)
  const reprise = createReprise({ store })
  // A new one each time: what was slow is kept for a while, whatever freshMs says.
  await measure(() => createAdmin(reprise, { freshMs: 0 }))
} finally {
  await pool.end()
  if (kept === undefined) await aside.query(`drop database ${name} with (force)`)
  await aside.end()
}

async function measure(open: () => ReturnType<typeof createAdmin>): Promise<void> {
  const admin = open()
  const [one] = (await admin.list({}, { limit: 1 })).items
  if (one === undefined) throw new Error('Nothing was filled in.')
  const limit = { limit: 50 }
  const pages: Readonly<Record<string, () => Promise<unknown>>> = {
    overview: () => open().overview({ windowMs: 86_400_000 }),
    counts: () => open().counts({ olderThanMs: 0 }),
    requests: () => admin.list({}, limit),
    'requests, finished': () => admin.list({ states: ['finished'] }, limit),
    'requests, failed': () => admin.list({ states: ['failed'] }, limit),
    'requests, running': () => admin.list({ states: ['running'] }, limit),
    'requests, expired': () => admin.list({ states: ['expired'] }, limit),
    stuck: () => admin.list({ states: ['stuck'] }, limit),
    'needs a person': () => admin.list({ states: ['needs_person'] }, limit),
    'by operation': () => admin.list({ operation: 'op-7' }, limit),
    'by caller': () => admin.list({ caller: 'acct_7' }, limit),
    'by a caller that is not there': () => admin.list({ caller: 'nobody' }, limit),
    'by request id that is not there': () => admin.list({ requestId: 'none' }, limit),
    'by prefix of key': () => admin.list({ key: 'abcd*' }, limit),
    'by duplicates': () => admin.list({ duplicatesMin: 1000 }, limit),
    'by age': () => admin.list({ olderThanMs: 36_000_000 }, limit),
    'by key': () => admin.findByKey(one.key),
    'one request': () => admin.find(one.id),
    letters: () => admin.letters({ ...limit, isSettled: false }),
    conflicts: () => admin.duplicates({ ...limit, results: ['mismatch', 'in_progress'] }),
    jobs: () => admin.jobs(limit),
    'jobs set aside': () => admin.jobs({ ...limit, state: 'set_aside' }),
    workers: () => admin.workers(),
    audit: () => admin.audit(limit),
  }
  for (const [page, ask] of Object.entries(pages)) {
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const startedAt = performance.now()
      await ask()
      times.push(performance.now() - startedAt)
    }
    times.sort((a, b) => a - b)
    const at = (part: number) => (times[Math.floor(part * ROUNDS)] ?? 0).toFixed(0)
    console.info(
      `${page.padEnd(34)} median ${at(0.5).padStart(5)} ms  p95 ${at(0.95).padStart(5)} ms`,
    )
  }
}
