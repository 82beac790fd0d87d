import { expect, it } from 'vitest'
import { temporaryDatabase } from '../../support/postgres.ts'
import { pgKind } from './pg.ts'
import { PLANTS, plantIn } from './planted.ts'
import { playSeason, Theatre } from './play.ts'
import { postgresSource } from './postgres.ts'

it.each(PLANTS)('finds within $programs programs that $name', async (plant) => {
  const kind = plantIn(pgKind('pg', false), plant)
  const theatre = new Theatre(await postgresSource(kind, temporaryDatabase))
  const restore = plant.process?.()
  try {
    const { violations } = await playSeason(theatre, { seed: 1, programs: plant.programs })
    expect(violations.flatMap(({ found }) => found)).toContainEqual(
      expect.stringMatching(plant.finds),
    )
  } finally {
    restore?.()
    await theatre.close()
  }
})
