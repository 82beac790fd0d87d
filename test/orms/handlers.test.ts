/**
 * Handlers that behave badly, in transactions of each ORM. `HANDLERS=20000 npm run orms` plays that many
 * programs on each.
 *
 * @module
 */

import { afterAll, describe, expect, it } from 'vitest'
import { playSeason, printViolation, Theatre } from '../hostile/handlers/play.ts'
import { postgresSource } from '../hostile/handlers/postgres.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import { ORMS } from './handler-kinds.ts'

const { HANDLERS = '150', HANDLERS_SEED = '1' } = process.env

describe.each(ORMS)('handlers that behave badly, with $name', (kind) => {
  const theatres: Theatre[] = []
  afterAll(async () => {
    for (const theatre of theatres) await theatre.close()
  })

  it('run once, whole, or not at all, and their clients are told the truth', async () => {
    const theatre = new Theatre(await postgresSource(kind, temporaryDatabase))
    theatres.push(theatre)
    const season = { seed: Number(HANDLERS_SEED), programs: Number(HANDLERS) }
    const { violations } = await playSeason(theatre, season)
    const smaller = await Promise.all(violations.map((one) => theatre.shrink(one)))
    expect(smaller.map(printViolation)).toEqual([])
  }, 3_600_000)
})
