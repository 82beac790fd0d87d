/**
 * What a person sees of a dead letter, and what later requests get of what the person decided.
 */

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aesGcm, createReprise, memoryStore, type Reprise } from '../../src/index.ts'
import {
  advance,
  deadLetters,
  foreignCall,
  type Operation,
  operation,
  phase,
  respond,
} from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let pool: pg.Pool
let reprise: Reprise<pg.PoolClient>
let transfer: Operation<pg.PoolClient, { amount: number }>
const bank = { isCut: true, transfers: 0 }

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = new pg.Pool({ connectionString: database.url })
  const encryption = aesGcm({ current: 'a', keys: { a: new Uint8Array(32).fill(7) } })
  reprise = createReprise({ store: postgresStore(pool), encryption })
  transfer = operation(
    'transfer',
    { reprise, input: z.object({ amount: z.number() }), completer: { graceMs: 0, retryMs: 0 } },
    {
      started: phase(async ({ input }) => advance('noted', { reference: `r${input.amount}` })),
      noted: foreignCall({
        repeat: 'never',
        async call() {
          bank.transfers++
          if (bank.isCut) throw new Error('the connection was cut')
          return { id: 'tr_1' }
        },
        done: ({ result }, { reference }: { reference: string }) =>
          respond(201, { ...result, reference }),
      }),
    },
  )
})

afterAll(async () => {
  await reprise.close()
  await pool.end()
  await database.drop()
})

let number = 0
async function buried() {
  const request = { caller: 'user-1', key: `key-${number++}`, input: { amount: number } }
  bank.isCut = true
  const result = await transfer.run(request)
  expect(result).toEqual({ outcome: 'unknown' })
  const [letter] = await deadLetters(reprise).list({ limit: 1 })
  if (letter === undefined) throw new Error('There is no letter.')
  return { request, letter: letter.letter }
}

const decision = { author: 'ada@example.com', note: 'Asked the bank on the phone.' }

async function jsonOf(request: { caller: string; key: string; input: unknown }) {
  const result = await transfer.run(request)
  const body =
    'response' in result ? JSON.parse(Buffer.from(result.response.body).toString()) : null
  return {
    outcome: result.outcome,
    status: 'response' in result ? result.response.status : null,
    body,
  }
}

describe('a dead letter', () => {
  test('says everything that a person needs', async () => {
    const { request, letter } = await buried()

    const found = await deadLetters(reprise).find(letter)

    expect(found).toMatchObject({
      ...{ cause: 'outcome_unknown', point: 'noted', caller: 'user-1', key: request.key },
      ...{ operation: 'transfer', error: 'Error: the connection was cut', settlement: null },
      ...{ input: request.input, state: { reference: `r${request.input.amount}` } },
    })
    expect(found?.history).toMatchObject([
      { point: 'started', ending: 'advanced', reached: 'noted', actor: 'request' },
      { point: 'noted', ending: null, callKey: expect.stringMatching(/^reprise-.{22}-noted$/) },
    ])
    const again = await transfer.run(request)
    expect(again).toEqual({ outcome: 'unknown' })
  })

  test('that happened gives its answer to every further request', async () => {
    const { request, letter } = await buried()
    const before = bank.transfers

    const answer = { status: 201, body: { id: 'tr_9' } }
    expect(await deadLetters(reprise).happened(letter, answer, decision)).toBe(true)

    expect(await jsonOf(request)).toEqual({
      outcome: 'replayed',
      status: 201,
      body: { id: 'tr_9' },
    })
    expect(bank.transfers).toBe(before)
  })

  test('that did not happen is taken up where it stopped', async () => {
    const { request, letter } = await buried()
    const before = bank.transfers
    bank.isCut = false

    expect(await deadLetters(reprise).resume(letter, decision)).toBe(true)
    await createWorkers(reprise, { operations: [transfer], reaper: false }).runOnce()

    const reference = `r${request.input.amount}`
    const body = { id: 'tr_1', reference }
    expect(await jsonOf(request)).toEqual({ outcome: 'replayed', status: 201, body })
    expect(bank.transfers).toBe(before + 1)
  })

  test('that is given up gives its error to every further request', async () => {
    const { request, letter } = await buried()

    const answer = { status: 409, body: { error: 'Call us.' } }
    expect(await deadLetters(reprise).giveUp(letter, answer, decision)).toBe(true)

    const body = { error: 'Call us.' }
    expect(await jsonOf(request)).toEqual({ outcome: 'replayed', status: 409, body })
  })

  test('is settled once, by somebody, for a reason that stays', async () => {
    const { letter } = await buried()
    const letters = deadLetters(reprise)

    await expect(letters.resume(letter, { author: '', note: 'why' })).rejects.toThrow(/author/)
    expect(await letters.giveUp(letter, { status: 409 }, decision)).toBe(true)
    expect(await letters.resume(letter, decision)).toBe(false)
    expect(await letters.happened('no-letter', { status: 200 }, decision)).toBe(false)

    const found = await letters.find(letter)
    expect(found?.settlement).toEqual({ way: 'give_up', ...decision })
    const { rows } = await pool.query(
      'select action, subject, author, note from reprise.audit order by number desc limit 1',
    )
    expect(rows).toEqual([
      { action: 'settle give_up', subject: `dead letter ${letter}`, ...decision },
    ])
    await expect(pool.query('delete from reprise.audit')).rejects.toThrow(/stays as it is/)
    await expect(pool.query(`update reprise.audit set note = ''`)).rejects.toThrow(/stays as it is/)
  })

  test('is kept by no store that has no phases', () => {
    expect(() => deadLetters(createReprise({ store: memoryStore() }))).toThrow(
      /keeps no dead letters/,
    )
  })
})
