/**
 * Thousands of operations through a network that does what networks do. Effects are counted in the
 * database.
 *
 * @module
 */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, createClient } from '../../src/client/client.ts'
import { OutcomeUnknownError } from '../../src/client/errors.ts'
import { memoryJournal } from '../../src/client/journal.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { Chance } from '../engine/chance.ts'
import { chaosProxy, FATES } from './chaos-proxy.ts'
import { type Ledger, startLedger } from './ledger.ts'

const OPERATIONS = Number(process.env['CLIENT_OPERATIONS'] ?? 2_000)
const AT_ONCE = 64
/** Every fourth operation is one of a few resources, whose order is kept. */
const RESOURCES = 8
const SEED = Number(process.env['CLIENT_SEED'] ?? 20_261_116)

interface Answer {
  readonly id: number
  readonly op: string
}

let ledger: Ledger
const random = new Chance(SEED)
beforeAll(async () => {
  ledger = await startLedger({
    waitMs: 100,
    before() {
      if (random.fraction() < 0.03) throw new Error('The server fails before its effect.')
    },
  })
})
afterAll(() => ledger.close())

/** Runs them all, so many at once; what is given up is left to be resumed. */
async function operate(client: Client): Promise<number> {
  let next = 0
  let unknown = 0
  const one = async () => {
    for (let at = next++; at < OPERATIONS; at = next++) {
      const op = `op-${at}`
      const resource = at % 4 === 0 ? `resource-${(at / 4) % RESOURCES}` : undefined
      try {
        const init = { json: { op }, ...(resource && { resource }) }
        const { response, json } = await client.post<Answer>('effects', init)
        expect([response.status, (await json()).op]).toEqual([201, op])
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
  const proxy = await chaosProxy(ledger.port, () => random.fraction())
  const options: ClientOptions = {
    ...{ baseUrl: `http://127.0.0.1:${proxy.port}/`, journal: memoryJournal(), backoffMs: 10 },
    onEvent: ({ type, response }) => {
      if (type === 'answered' && response) answered.push(response.clone().json())
    },
    journalLimits: { openMax: OPERATIONS, answeredMax: OPERATIONS },
  }
  const hasty = { attemptTimeoutMs: 250, attemptsMax: 4, deadlineMs: 3_000, retryBudget: 20_000 }
  const unknown = await operate(createClient({ ...options, ...hasty, backoffMsMax: 100 }))
  proxy.heal()
  // As after a restart, and with all the time that a busy machine may need.
  const client = createClient(options)
  await settle(client)
  await proxy.idle()

  const effects = await ledger.effects()
  const ops = Array.from({ length: OPERATIONS }, (_, at) => `op-${at}`)
  console.info(`${unknown} of ${OPERATIONS} outcomes unknown at first`, proxy.counts)
  expect(effects.map(({ op }) => op).sort()).toEqual([...ops].sort())
  // Each operation was told of its own effect, and once.
  const told = await Promise.all(answered)
  const answers = new Map(told.map((answer) => [answer.op, answer]))
  expect([told.length, answers.size]).toEqual([OPERATIONS, OPERATIONS])
  for (const { id, op } of effects) expect(answers.get(op)).toEqual({ id, op })

  for (let resource = 0; resource < RESOURCES; resource++) {
    const inOrder = ops.filter((_, at) => at % 4 === 0 && (at / 4) % RESOURCES === resource)
    const ids = inOrder.map((op) => answers.get(op)?.id ?? 0)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
  }

  // The network was bad in every way, and some outcomes could only be settled later.
  for (const fate of FATES) expect([fate, proxy.counts[fate] > 20]).toEqual([fate, true])
  expect(unknown).toBeGreaterThan(10)
  const journal = await client.journal.list()
  expect(journal.filter(({ state }) => state !== 'answered')).toEqual([])
  expect(new Set(journal.map(({ key }) => key))).toEqual(new Set(effects.map(({ key }) => key)))
}, 120_000)
