import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { atLength } from '../../support/at-length.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../../support/postgres.ts'
import { countDeaths, type Deaths } from './deaths.ts'
import { play, shrink } from './play.ts'
import { isOnPostgres, type Program, programOf } from './program.ts'
import { Messages } from './protocol.ts'
import { World } from './world.ts'

const SEEDS = atLength(24, 1_500)

/** Longer than all programs of a test take. */
const TEST_MS = 3_600_000

describe('messages are told apart', () => {
  it('of PostgreSQL, however they are cut into segments', () => {
    const startup = Buffer.from([0, 0, 0, 9, 0, 3, 0, 0, 0])
    const query = Buffer.concat([Buffer.from('Q'), Buffer.from([0, 0, 0, 9]), Buffer.from('go to')])
    const all = Buffer.concat([startup, query, query])
    for (const size of [1, 2, 7, all.length]) {
      const messages = new Messages('postgres', 'client')
      const types: string[] = []
      for (let at = 0; at < all.length; at += size) {
        for (const { type } of messages.take(all.subarray(at, at + size))) types.push(type)
      }
      expect(types).toEqual(['startup', 'Q', 'Q'])
    }
  })

  it('of Redis, however they are cut into segments', () => {
    const replies = ['+OK\r\n', '*2\r\n$3\r\na\r\n\r\n*1\r\n:5\r\n', '$-1\r\n', '%1\r\n+a\r\n_\r\n']
    const all = Buffer.from(replies.join(''))
    for (const size of [1, 2, 5, all.length]) {
      const messages = new Messages('redis', 'server')
      const seen: string[] = []
      for (let at = 0; at < all.length; at += size) {
        for (const { bytes } of messages.take(all.subarray(at, at + size))) seen.push(String(bytes))
      }
      expect(seen).toEqual(replies)
    }
  })
})

describe('on hostile wires', () => {
  let database: TemporaryDatabase
  let world: World
  let deaths: Deaths

  beforeAll(async () => {
    database = await temporaryDatabase()
    const redis = inject('redis')
    const servers = { postgres: database.url, redis: 'url' in redis ? redis.url : undefined }
    world = await World.open(servers)
  })
  afterAll(async () => {
    await world.close()
    await database.drop()
  })
  beforeEach(() => {
    deaths = countDeaths()
  })
  afterEach(() => deaths.restore())

  const isPlayable = ({ library }: Program) =>
    world.servers.redis !== undefined || isOnPostgres(library)

  it(
    'every request runs once, whole, or not at all, and its client is told the truth',
    async () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const program = programOf(seed)
        if (!isPlayable(program)) continue
        const { violations } = await play(program, { world, deaths })
        if (violations.length === 0) continue
        const least = await shrink(program, { world, deaths })
        expect.fail(`Seed ${seed}: ${violations.join('; ')}\n${JSON.stringify(least)}`)
      }
    },
    TEST_MS,
  )
})
