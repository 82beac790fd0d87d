/**
 * What a newcomer runs first: one charge, sent ten times at once to two nodes, one of which is killed
 * in the middle of it. First without Reprise, then with it. Then the database says what happened.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { query, startPostgres } from '../../scripts/servers/postgres.ts'
import type { Order, Report } from './node.ts'

const COPIES = 5
const node = join(import.meta.dirname, 'node.ts')

async function startNode(url: string): Promise<ChildProcess> {
  const child = fork(node, [url], { execArgv: process.execArgv })
  await once(child, 'message')
  return child
}

/** Sends the orders and resolves with what comes back, or fewer if the node dies. */
function send(child: ChildProcess, orders: readonly Order[]): Promise<readonly Report[]> {
  return new Promise((resolve) => {
    const reports: Report[] = []
    child.on('message', (report: Report | 'inside') => {
      if (report !== 'inside') reports.push(report)
      if (reports.length === orders.length) resolve(reports)
    })
    child.once('exit', () => resolve(reports))
    for (const order of orders) child.send(order)
  })
}

async function tell(url: string, isProtected: boolean): Promise<number> {
  const key = isProtected ? 'with-reprise' : 'without-reprise'
  const order = (attempt: number, crash = false): Order => ({
    ...{ attempt, key, amount: 4200, isProtected, crash },
  })
  const orders = (first: number) => Array.from({ length: COPIES }, (_, i) => order(first + i))
  const [a, b] = await Promise.all([startNode(url), startNode(url)])

  const onA = send(a, [order(1, true), ...orders(2).slice(0, COPIES - 1)])
  await once(a, 'message')
  const onB = send(b, orders(COPIES + 1))
  await onA
  print(1, 'A', { outcome: 'killed', answer: 'by SIGKILL, right after its insert' })
  for (const report of await onB) print(report.attempt, 'B', report)

  const again = await startNode(url)
  for (const report of await send(again, orders(2 * COPIES + 1))) print(report.attempt, 'A', report)
  for (const child of [b, again]) child.disconnect()
  const { rows } = await query(
    url,
    `select count(*)::int as n from charges where idempotency_key = '${key}'`,
  )
  return rows[0].n
}

function print(attempt: number, name: string, report: Pick<Report, 'outcome' | 'answer'>): void {
  console.log(
    `  ${String(attempt).padStart(7)}  ${name}     ${report.outcome.padEnd(10)}  ${report.answer}`,
  )
}

/** A database of the example's own, dropped at its end. */
async function withDatabase(serverUrl: string, use: (url: string) => Promise<void>): Promise<void> {
  const name = `reprise_first_run_${process.pid}`
  await query(serverUrl, `create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  try {
    await query(url.href, 'create table charges (id serial, idempotency_key text, amount integer)')
    await use(url.href)
  } finally {
    await query(serverUrl, `drop database ${name} with (force)`)
  }
}

const HEAD = '\n  attempt  node  outcome     answer'
const server = await startPostgres()
console.log(`PostgreSQL: ${server.origin}.`)
try {
  await withDatabase(server.url, async (url) => {
    console.log(
      '\nWithout Reprise: one charge, sent until it is answered, a node killed on the way.',
    )
    console.log(HEAD)
    const unprotected = await tell(url, false)
    console.log('\nWith Reprise: the same.')
    console.log(HEAD)
    const charges = await tell(url, true)
    console.log(`\nCharges made: ${unprotected} without Reprise, ${charges} with it.`)
    process.exitCode = charges === 1 ? 0 : 1
  })
} finally {
  await server.stop()
}
