/**
 * Handlers that do not wait for what they began, on every ORM, with some latency to the server: the
 * request runs once, whole, or not at all, and its client is told the truth.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { isRepriseError, type RunResult } from '../../src/index.ts'
import { advance, operation, phase, respond } from '../../src/phases/index.ts'
import { atLength } from '../support/at-length.ts'
import { answer, freshRequest, type MakeOrm, name, textOf, useWorld, type World } from './orm.ts'

/** Latency in each direction, in milliseconds. */
const DELAY_MS = 1
const COMMIT = /\bcommit\b/i
/** How often a statement that nobody awaits fails. */
const ROUNDS = atLength(25, 125)

class Refused extends Error {}

/** The code of an error of ours. */
function codeOf(error: unknown): unknown {
  return isRepriseError(error) ? error.code : error
}

/** What became of a promise: the code of its error, or `ran`. */
function ending(late: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(late).then(() => 'ran', codeOf)
}

/** A statement that fails, as the ORM sends it. */
async function fails<Tx>({ insert }: World<Tx>, tx: Tx): Promise<void> {
  // The name is taken.
  await insert(tx, 'taken')
}

/** How many connections of this database sit in a transaction. */
async function inTransaction<Tx>({ pool }: World<Tx>): Promise<number> {
  const { rows } = await pool.query(
    `select count(*)::integer as count from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`,
  )
  return rows[0].count
}

/** Runs all of it on one ORM. */
export function describeHostile<Tx>(title: string, make: MakeOrm<Tx>): void {
  describe(`handlers of ${title} that do not wait`, () => {
    const world = useWorld(make, { delayMs: DELAY_MS })
    lateStatements(world)
    failedStatements(world)
    nestedTransactions(world)
    lostConnections(world)
  })
}

function lateStatements<Tx>(world: () => World<Tx>): void {
  it('adds no row after one branch of several has failed', async () => {
    const { reprise, insert, names } = world()
    for (let round = 0; round < atLength(10, 50); round++) {
      const request = freshRequest()
      const late: Promise<unknown>[] = []
      let isBroken = true
      const run = () =>
        reprise.runInTransaction(request, async ({ tx }) => {
          const branch = async (index: number) => {
            await insert(tx, `${round} first ${index}`)
            if (isBroken && index === 0) throw new Refused()
            for (let step = 0; step < 8; step++) {
              await sleep(step % 3)
              await insert(tx, `${round} ${index} ${step}`)
            }
          }
          const branches = [0, 1, 2].map(branch)
          late.push(...branches.slice(1).map(ending))
          await Promise.all(branches)
          return answer('made')
        })
      await expect(run()).rejects.toBeInstanceOf(Refused)
      const before = await names()
      isBroken = false
      expect((await run()).outcome).toBe('executed')
      const codes = await Promise.all(late)
      expect(codes.slice(0, 2)).toEqual(['reprise-transaction-over', 'reprise-transaction-over'])
      expect(before).toEqual([])
      expect(await names()).toHaveLength(27)
      await world().pool.query('truncate effects')
    }
  })

  it('refuses a statement after the answer, which would run in the transaction of another', async () => {
    const { reprise, insert, names } = world()
    for (let round = 0; round < atLength(10, 50); round++) {
      const lates: Promise<unknown>[] = []
      const run = (index: number) =>
        reprise.runInTransaction(freshRequest(), async ({ tx }) => {
          await insert(tx, `${round} ${index}`)
          const late = async () => {
            for (let step = 0; ; step++) {
              await sleep(0)
              await insert(tx, `${round} ${index} late ${step}`)
              lates.push(Promise.resolve('ran late'))
            }
          }
          lates.push(sleep(3).then(() => ending(late())))
          return answer('made')
        })
      for (const index of [0, 1, 2, 3]) await run(index)
      const codes = await Promise.all(lates)
      expect(new Set(codes)).toEqual(new Set(['reprise-transaction-over']))
      expect(await names()).toHaveLength(4 * (round + 1))
    }
  })

  it('refuses what was taken from the transaction before its end', async () => {
    const { reprise, insert, keep, names } = world()
    if (keep === undefined) return
    for (const isAnswered of [true, false]) {
      let kept: Awaited<ReturnType<NonNullable<typeof keep>>> = {}
      const run = reprise.runInTransaction(freshRequest(), async ({ tx }) => {
        kept = await keep(tx, 'late')
        await insert(tx, 'made')
        if (!isAnswered) throw new Refused()
        return answer('made')
      })
      await run.catch(() => {})
      const endings: Record<string, unknown> = {}
      for (const [way, late] of Object.entries(kept)) {
        endings[way] = await ending((async () => late())())
      }
      const refused = Object.keys(kept).map((way) => [way, 'reprise-transaction-over'])
      expect(endings).toEqual(Object.fromEntries(refused))
      expect(await names()).toEqual(['made'])
    }
    expect(await inTransaction(world())).toBe(0)
  })

  it('lets everything through that was taken from the transaction, before its end', async () => {
    const { reprise, keep, names } = world()
    if (keep === undefined) return
    const ways: string[] = []
    for (let index = 0; ; index++) {
      let isDone = false
      await reprise.runInTransaction(freshRequest(), async ({ tx }) => {
        const [way, late] = Object.entries(await keep(tx, `kept ${index}`))[index] ?? []
        isDone = late === undefined
        if (way !== undefined) ways.push(way)
        await late?.()
        return answer('made')
      })
      if (isDone) break
    }
    expect(await names()).toHaveLength(ways.length)
  })

  it('refuses a statement of a phase after its answer', async () => {
    const { reprise, insert, names } = world()
    const late: Promise<unknown>[] = []
    const again = async (tx: Tx, row: string) => {
      for (let step = 0; ; step++) {
        await sleep(0)
        await insert(tx, `${row} late ${step}`)
      }
    }
    const made = operation(
      `make ${randomUUID()}`,
      { reprise, input: name },
      {
        started: phase(async ({ tx, input }) => {
          await insert(tx, input)
          late.push(sleep(2).then(() => ending(again(tx, input))))
          return advance('half')
        }),
        half: phase(async ({ tx, input }) => {
          await insert(tx, `${input} half`)
          late.push(sleep(2).then(() => ending(again(tx, `${input} half`))))
          return respond(201, 'made')
        }),
      },
    )
    for (let round = 0; round < 5; round++) {
      await made.run({ caller: 'anna', key: randomUUID(), input: `row ${round}` })
    }
    expect(new Set(await Promise.all(late))).toEqual(new Set(['reprise-transaction-over']))
    expect(await names()).toHaveLength(10)
  })
}

/** What the client was told, and what stands in the database. */
async function truth<Tx>(world: World<Tx>, row: string, run: () => Promise<RunResult>) {
  const told = await run().then(
    ({ outcome }) => outcome === 'executed',
    () => false,
  )
  const { rows } = await world.pool.query('select from effects where name = $1', [row])
  return { told, isStored: rows.length === 1 }
}

function failedStatements<Tx>(world: () => World<Tx>): void {
  it('tells the truth when a statement fails that nobody awaits', async () => {
    const { reprise, insert, pool } = world()
    const untrue: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await pool.query(`insert into effects (name) values ('taken') on conflict do nothing`)
      const request = freshRequest()
      const row = `row ${round}`
      const run = () =>
        reprise.runInTransaction(request, async ({ tx }) => {
          await insert(tx, row)
          const audit = async () => {
            for (let step = 0; step < round % 12; step++) await Promise.resolve()
            if (round % 5 === 4) await sleep(round % 3)
            await fails(world(), tx)
          }
          if (round % 2 === 0) void audit().catch(() => {})
          else await Promise.race([audit(), sleep(0)])
          return answer('made')
        })
      const first = await truth(world(), row, run)
      if (first.told !== first.isStored) untrue.push(`round ${round}: ${JSON.stringify(first)}`)
      // The key of what was not stored is free, and what was stored is given again.
      const found = await reprise.runInTransaction(request, async () => answer('again'))
      if (textOf(found) !== (first.told ? 'made' : 'again')) untrue.push(`retry of round ${round}`)
    }
    expect(untrue).toEqual([])
  })

  it('tells the truth when a statement of a phase fails that nobody awaits', async () => {
    const { reprise, insert, pool } = world()
    const untrue: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await pool.query(`insert into effects (name) values ('taken') on conflict do nothing`)
      let charges = 0
      let isBroken = true
      const made = operation(
        `make ${randomUUID()}`,
        { reprise, input: name },
        {
          started: phase(async ({ tx, input }) => {
            await insert(tx, input)
            if (isBroken) {
              isBroken = false
              const audit = async () => {
                for (let step = 0; step < round % 12; step++) await Promise.resolve()
                await fails(world(), tx)
              }
              void audit().catch(() => {})
            }
            return advance('charged')
          }),
          charged: phase(async () => {
            charges++
            return respond(201, 'made')
          }),
        },
      )
      const request = { caller: 'anna', key: randomUUID(), input: `phase ${round}` }
      const first = await made.run(request).catch(() => made.run(request))
      const { rows } = await pool.query('select from effects where name = $1', [request.input])
      if (rows.length !== 1 || charges !== 1 || textOf(first) !== 'made') {
        untrue.push(`round ${round}: ${charges} charges, ${rows.length} rows, ${textOf(first)}`)
      }
    }
    expect(untrue).toEqual([])
  })
}

function nestedTransactions<Tx>(world: () => World<Tx>): void {
  it.each(['answered', 'ended'] as const)(
    'undoes everything when a nested transaction is left open (%s)',
    async (how) => {
      const { reprise, insert, nested, names, pool } = world()
      if (nested === undefined) return
      for (let round = 0; round < atLength(5, 25); round++) {
        const request = freshRequest()
        let left: Promise<unknown> = Promise.resolve()
        const run = reprise.runInTransaction(request, async ({ tx }) => {
          await insert(tx, 'outer')
          let begin = () => {}
          const begun = new Promise<void>((resolve) => {
            begin = resolve
          })
          left = ending(
            nested(tx, async (inner) => {
              await insert(inner, 'inner')
              begin()
              await sleep(how === 'ended' ? 5 : 60)
              await insert(inner, 'inner late')
            }),
          )
          await begun
          return answer('made')
        })
        const told = await run.then(textOf, () => 'refused')
        await left
        expect([told, await names()]).toEqual(['refused', []])
        expect(await inTransaction(world())).toBe(0)
        // Whatever connection comes next is in no transaction.
        await Promise.all([1, 2, 3].map(() => pool.query('select')))
        const again = await reprise.runInTransaction(request, async ({ tx }) => {
          await insert(tx, `again ${round}`)
          return answer('again')
        })
        expect(textOf(again)).toBe('again')
        await pool.query('truncate effects')
      }
    },
  )

  it('undoes everything when a nested transaction was begun and not ended', async () => {
    const { reprise, insert, startNested, names } = world()
    if (startNested === undefined) return
    const request = freshRequest()
    const run = reprise.runInTransaction(request, async ({ tx }) => {
      await insert(tx, 'outer')
      await startNested(tx)
      await insert(tx, 'inner')
      return answer('made')
    })
    const told = await run.then(textOf, () => 'refused')
    expect([told, await names(), await inTransaction(world())]).toEqual(['refused', [], 0])
    const again = await reprise.runInTransaction(request, async () => answer('again'))
    expect(textOf(again)).toBe('again')
  })
}

function lostConnections<Tx>(world: () => World<Tx>): void {
  it.each(['after', 'instead'] as const)(
    'looks for the answer when the connection is cut at COMMIT (%s)',
    async (when) => {
      const { reprise, insert, names, wire } = world()
      const request = freshRequest()
      const run = () =>
        reprise.runInTransaction(request, async ({ tx }) => {
          await insert(tx, 'made')
          wire?.cutAt(COMMIT, when)
          return answer('made')
        })
      const told = await run().then(textOf, codeOf)
      if (when === 'after') expect(told).toBe('made')
      else expect(told).toBe('idempotency-commit-unknown')
      const again = await reprise.runInTransaction(request, async ({ tx }) => {
        await insert(tx, 'made')
        return answer('made')
      })
      expect(textOf(again)).toBe('made')
      expect(await names()).toEqual(['made'])
    },
  )

  it.each(['after', 'instead'] as const)(
    'goes on with a phase whose connection is cut at COMMIT (%s)',
    async (when) => {
      const { reprise, insert, names, wire, pool, lapse } = world()
      let isCut = false
      const made = operation(
        `make ${randomUUID()}`,
        { reprise, input: name },
        {
          started: phase(async ({ tx, input }) => {
            await insert(tx, input)
            if (!isCut) wire?.cutAt(COMMIT, when)
            isCut = true
            return advance('half')
          }),
          half: phase(async ({ tx, input }) => {
            await insert(tx, `${input} half`)
            return respond(201, 'made')
          }),
        },
      )
      const request = { caller: 'anna', key: randomUUID(), input: 'row' }
      let told = await made.run(request).then(textOf, () => 'failed')
      for (let tries = 0; told !== 'made' && tries < 5; tries++) {
        await lapse()
        told = await made.run(request).then(textOf, (error: unknown) => String(error))
      }
      expect(told).toBe('made')
      expect(await names()).toEqual(['row', 'row half'])
      const letters = await pool.query(`select from reprise.dead_letters`).catch(() => undefined)
      expect(letters?.rowCount ?? 0).toBe(0)
    },
  )
}
