/**
 * Handlers that behave badly, a share of them in every run: `npm run handlers` plays more.
 *
 * @module
 */

import { afterAll, describe, expect, it } from 'vitest'
import { atLength } from '../../support/at-length.ts'
import { temporaryDatabase } from '../../support/postgres.ts'
import { CLIENTS, type ClientName, clientSource } from './clients.ts'
import { playSeason, printViolation, Theatre } from './play.ts'

/** How many programs each client library has, in `npm test` and in `npm run proof`. */
const SHARES: Readonly<Record<ClientName, readonly [number, number]>> = {
  pg: [90, 3000],
  'pg-pipeline': [90, 3000],
  'postgres-js': [60, 2000],
  pglite: [30, 500],
  libsql: [30, 1000],
}

describe.each(CLIENTS)('handlers that behave badly, on %s', (name) => {
  const theatres: Theatre[] = []
  afterAll(async () => {
    for (const theatre of theatres) await theatre.close()
  })

  it('run once, whole, or not at all, and their clients are told the truth', async () => {
    const theatre = new Theatre(await clientSource(name, temporaryDatabase))
    theatres.push(theatre)
    const programs = atLength(...SHARES[name])
    const { violations } = await playSeason(theatre, { seed: 1, programs })
    const smaller = await Promise.all(violations.map((one) => theatre.shrink(one)))
    expect(smaller.map(printViolation)).toEqual([])
  })
})
