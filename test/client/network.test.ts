/**
 * Thousands of operations against the reference server, through a network that does what networks do.
 * Effects are counted in the database.
 *
 * @module
 */

import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, createClient } from '../../src/client/client.ts'
import { OutcomeUnknownError } from '../../src/client/errors.ts'
import { memoryJournal } from '../../src/client/journal.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { tasks } from '../../src/core/dialects/tasks.ts'
import { Chance } from '../engine/chance.ts'
import { type ReferenceServer, startServer } from '../server/reference-server.ts'
import { atLength } from '../support/at-length.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { chaosProxy, FATES } from './chaos-proxy.ts'

const OPERATIONS = Number(process.env['CLIENT_OPERATIONS'] ?? atLength(600, 2_000))
const AT_ONCE = 64
/** Every fourth operation is one of a few resources, whose order is kept. */
const RESOURCES = 8
const SEED = Number(process.env['CLIENT_SEED'] ?? 20_261_116)

/** How often the server itself fails before its effect. */
const FAILS = 0.03

/** A task, as far as it is looked at. */
interface Answer {
  readonly id: string
  readonly task_name: string
}

let database: TemporaryDatabase
let server: ReferenceServer
const random = new Chance(SEED)
beforeAll(async () => {
  database = await temporaryDatabase()
  server = await startServer({ DATABASE_URL: database.url })
}, 120_000)
afterAll(async () => {
  await server?.stop()
  await database?.drop()
})

/** What stands in the database: everything that took effect, in its order, and every key. */
async function stored() {
  const client = new pg.Client(database.url)
  await client.connect()
  const made = 'select id, task_name from tasks order by created_at'
  const { rows: tasksMade } = await client.query<Answer>(made)
  const { rows } = await client.query<{ key: string }>('select key from reprise.records')
  await client.end()
  return { made: tasksMade, keys: new Set(rows.map(({ key }) => key)) }
}

/** Who sends: one with patience, and one that gives up waiting before a late answer comes. */
interface Senders {
  readonly patient: Client
  readonly hasty: Client
}

/** Runs them all, so many at once; what is given up is left to be resumed. */
async function operate({ patient, hasty }: Senders): Promise<number> {
  let next = 0
  let unknown = 0
  const one = async () => {
    for (let at = next++; at < OPERATIONS; at = next++) {
      const op = `op-${at}`
      const resource = at % 4 === 0 ? `resource-${(at / 4) % RESOURCES}` : undefined
      try {
        const init = { json: { task_name: op }, ...(resource && { resource }) }
        const client = at % 12 === 1 ? hasty : patient
        const { response, json } = await client.post<Answer>('tasks', init)
        expect([200, 201], await response.clone().text()).toContain(response.status)
        expect((await json()).task_name).toBe(op)
      } catch (error) {
        if (!(error instanceof OutcomeUnknownError)) throw error
        unknown++
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  return unknown
}

/** Asks again, until nothing is left. */
async function settle(client: Client): Promise<void> {
  for (let round = 0; round < 10; round++) {
    const resumed = await client.resume()
    if (resumed.length === 0) return
    for (const one of resumed) expect(one).toHaveProperty('result')
  }
}

it(`${OPERATIONS} operations through a bad network (seed ${SEED}) have one effect and one answer each`, async () => {
  /** Also of operations that were settled before a later one, when nobody waited for them. */
  const answered: Promise<Answer>[] = []
  const proxy = await chaosProxy(Number(new URL(server.url).port), () => random.fraction())
  const options: ClientOptions = {
    ...{ baseUrl: `http://127.0.0.1:${proxy.port}/`, journal: memoryJournal(), backoffMs: 10 },
    dialect: tasks,
    headers: () => ({
      Authorization: 'Bearer sk_test_network',
      ...(random.fraction() < FAILS && { 'Demo-Fault': 'fail-before' }),
    }),
    onEvent: ({ type, response }) => {
      if (type === 'answered' && response) answered.push(response.clone().json())
    },
    journalLimits: { openMax: OPERATIONS, answeredMax: OPERATIONS },
  }
  const bounds = { attemptsMax: 4, deadlineMs: 60_000, retryBudget: 40_000, backoffMsMax: 100 }
  const unknown = await operate({
    // Enough for a busy machine: else nothing but time-outs would be seen.
    patient: createClient({ ...options, ...bounds, attemptTimeoutMs: 20_000 }),
    hasty: createClient({ ...options, ...bounds, attemptTimeoutMs: 150 }),
  })
  proxy.heal()
  // As after a restart, and with all the time that a busy machine may need.
  const client = createClient(options)
  await settle(client)
  await proxy.idle()

  const { made, keys } = await stored()
  const ops = Array.from({ length: OPERATIONS }, (_, at) => `op-${at}`)
  console.info(`${unknown} of ${OPERATIONS} outcomes unknown at first`, proxy.counts)
  expect(made.map(({ task_name }) => task_name).sort()).toEqual([...ops].sort())
  // Each operation was told of its own effect, and once.
  const told = await Promise.all(answered)
  const answers = new Map(told.map(({ id, task_name }) => [task_name, id]))
  expect([told.length, answers.size]).toEqual([OPERATIONS, OPERATIONS])
  for (const { id, task_name } of made) expect(answers.get(task_name)).toBe(id)

  for (let resource = 0; resource < RESOURCES; resource++) {
    const inOrder = ops.filter((_, at) => at % 4 === 0 && (at / 4) % RESOURCES === resource)
    const isOne = new Set(inOrder)
    const happened = made.map(({ task_name }) => task_name).filter((name) => isOne.has(name))
    expect(happened).toEqual(inOrder)
  }

  // The network was bad in every way, and some outcomes could only be settled later.
  for (const fate of FATES) expect([fate, proxy.counts[fate] > 20]).toEqual([fate, true])
  expect(unknown).toBeGreaterThan(atLength(0, 10))
  const journal = await client.journal.list()
  expect(journal.filter(({ state }) => state !== 'answered')).toEqual([])
  expect(new Set(journal.map(({ key }) => key))).toEqual(keys)
}, 600_000)
