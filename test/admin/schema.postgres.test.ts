import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminWorld, postgresWorld } from './world.ts'

let world: AdminWorld

beforeAll(async () => {
  world = await postgresWorld()
})
afterAll(() => world.dispose())

async function concerns(): Promise<readonly unknown[]> {
  const { concerns: found } = await world.admin({ freshMs: 0 }).overview({ windowMs: 3_600_000 })
  return found.filter(({ kind }) => kind === 'schema').map(({ text }) => text)
}

it('tells what is wrong with the schema on the first page', async () => {
  expect(await concerns()).toEqual([])

  await world.pool?.query('insert into reprise.migrations (number, breaking) values (99, false)')
  expect(await concerns()).toEqual([
    expect.stringMatching(/^The schema has step 99, .* it can go on working\.$/),
  ])

  await world.pool?.query('update reprise.migrations set breaking = true where number = 99')
  expect(await concerns()).toEqual([
    expect.stringMatching(/^The schema has step 99, .* it can not go on working\.$/),
  ])

  await world.pool?.query('delete from reprise.migrations where number in (5, 99)')
  expect(await concerns()).toEqual(['The schema "reprise" lacks step 5.'])
})
