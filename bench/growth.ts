/**
 * What grows: records in PostgreSQL, requests at a time, bytes of a body. How latency and throughput
 * go with them.
 *
 * @module
 */

import pg from 'pg'
import { bytesPerRecord, fill, filledKey, takeSample } from './fill.ts'
import { bodyOf, freshKey, keyRing } from './load.ts'
import { type Comparison, type Contest, compare, contest } from './measure.ts'
import type { ServerTask } from './servers/setups.ts'
import { TABLE } from './servers/work.ts'
import type { Settings } from './settings.ts'
import { comparisonOf, type Workload } from './variants.ts'
import type { World } from './world.ts'

/** A variant on a table of so many records, beside the same variant on an empty one. */
export interface RecordsPoint extends Contest {
  readonly variant: string
  readonly workload: Workload
  readonly records: number
  /** Bytes of a record, with its share of the indexes. */
  readonly bytesPerRecord: number
}

/** A variant with bodies of so many bytes, beside another with the same. */
export interface BodyPoint extends Comparison {
  /** Bytes of the request's body; the answer's has some 130 more. */
  readonly bodyBytes: number
}

/** Everything that was found. */
export interface Growth {
  readonly records: RecordsPoint[]
  readonly connections: Comparison[]
  readonly bodies: BodyPoint[]
}

/** What a growth is measured with. */
export interface GrowthParts {
  readonly world: World
  readonly settings: Settings
  readonly progress: (text: string) => void
}

const BY_RECORDS: readonly (readonly [variant: string, workload: Workload])[] = [
  ['express/transaction', 'fresh'],
  ['express/lease-postgres', 'fresh'],
  ['express/transaction-uncached', 'replay'],
]

const BY_CONNECTIONS = ['express/transaction', 'express/lease-postgres', 'express/lease-redis']

const BY_BODY: readonly (readonly [variant: string, workload: Workload])[] = [
  ['express/transaction', 'fresh'],
  ['express/lease-redis', 'fresh'],
  ['express/transaction-uncached', 'replay'],
  ['express/lease-redis-uncached', 'replay'],
]

/** Requests at a time where something else grows: enough to keep both cores busy, and no more. */
const CONNECTIONS = 8

/** Up to here a table is filled anew for each variant, so that it has what it is said to have. */
const REFILLED_MAX = 100_000

/** Records of the other table where they are replayed: as good as none. */
const FEW = 1000

/** Measures all three. */
export async function grow(parts: GrowthParts): Promise<Growth> {
  return {
    records: await byRecords(parts),
    connections: await byConnections(parts),
    bodies: await byBody(parts),
  }
}

async function byRecords({ world, settings, progress }: GrowthParts): Promise<RecordsPoint[]> {
  const { database } = world
  const empty = await emptyDatabase(world)
  await takeSample(database, world.task('express/transaction'))
  const found: RecordsPoint[] = []
  let filled = 0
  const fillTo = async (records: number) => {
    if (records <= REFILLED_MAX) {
      await database.query('truncate reprise.records')
      filled = 0
    }
    await fill(database, { from: filled, to: records }, (rows) => progress(`filled ${rows}`))
    filled = records
  }
  for (const records of settings.growth.records) {
    let bytes: number | undefined
    for (const [variant, workload] of BY_RECORDS) {
      if (bytes === undefined || records <= REFILLED_MAX) await fillTo(records)
      bytes ??= await bytesPerRecord(database)
      await empty.clear(workload)
      progress(`${records} records: ${workload} ${variant}`)
      const sides = {
        ...{ own: world.task(variant), other: empty.task(variant) },
        ...{ ownKey: freshKey, otherKey: freshKey },
        ...(workload === 'replay' && { ownKey: anyOf(records), otherKey: anyOf(FEW) }),
      }
      const before = await ridesIn(database)
      const rounds = { connections: [CONNECTIONS], turns: settings.turns }
      const [point] = await contest(sides, rounds)
      if (workload === 'replay' && (await ridesIn(database)) > before)
        throw new Error('What should have been replayed was executed.')
      if (point === undefined) continue
      found.push({ ...point, variant, workload, records, bytesPerRecord: bytes })
    }
  }
  await database.query('truncate reprise.records')
  await empty.close()
  return found
}

/** A database beside the large one, on the same server. */
async function emptyDatabase(world: World) {
  await world.database.query('create database empty')
  const url = new URL(world.databaseUrl)
  url.pathname = '/empty'
  const database = new pg.Pool({ connectionString: url.href, max: 1, application_name: 'bench' })
  database.on('error', () => {})
  await database.query(TABLE)
  const task = (variant: string): ServerTask => ({ ...world.task(variant), databaseUrl: url.href })
  await takeSample(database, task('express/transaction'))
  return {
    task,
    async clear(workload: Workload) {
      await database.query('truncate reprise.records')
      if (workload === 'replay') await fill(database, { from: 0, to: FEW })
    },
    close: () => database.end(),
  }
}

/** Keys of filled records, from all over the table; the same ones in every run. */
function anyOf(records: number): () => string {
  let state = 1
  return () => {
    // Numerical Recipes' generator: all that is asked of it is not to come near the same page twice.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return filledKey(1 + Math.floor((state / 2 ** 32) * records))
  }
}

async function ridesIn(database: pg.Pool): Promise<number> {
  const { rows } = await database.query<{ rides: number }>(
    'select count(*)::integer as rides from rides',
  )
  return rows[0]?.rides ?? 0
}

async function byConnections({ world, settings, progress }: GrowthParts): Promise<Comparison[]> {
  const found: Comparison[] = []
  const { turns, growth } = settings
  for (const variant of BY_CONNECTIONS) {
    if (lacks(world, variant)) continue
    progress(`${growth.connections.join(', ')} connections: ${variant}`)
    const rounds = { connections: growth.connections, turns }
    found.push(...(await compare(world, comparisonOf(variant, 'fresh'), rounds)))
  }
  return found
}

async function byBody({ world, settings, progress }: GrowthParts): Promise<BodyPoint[]> {
  const found: BodyPoint[] = []
  const { turns, growth } = settings
  const rounds = { connections: [CONNECTIONS], turns }
  for (const bodyBytes of growth.bodyBytes) {
    const body = bodyOf(noteOf(bodyBytes - bodyOf('').length))
    for (const [variant, workload] of BY_BODY) {
      if (lacks(world, variant)) continue
      progress(`bodies of ${bodyBytes} bytes: ${workload} ${variant}`)
      const beside = 'express/bare'
      // Not more than some megabytes of answers, or filling the ring would be most of the work.
      const ring = Math.min(256, Math.max(8, Math.round(4_000_000 / bodyBytes)))
      const [one] = await contest(
        {
          ...{ own: world.task(variant), other: world.task(beside), body },
          ...{ ownKey: workload === 'fresh' ? freshKey : keyRing(ring), otherKey: freshKey },
          warmUp: Math.min(3000, Math.max(100, Math.round(30_000_000 / bodyBytes))),
        },
        rounds,
      )
      if (one !== undefined) found.push({ ...one, variant, beside, workload, bodyBytes })
    }
  }
  return found
}

function lacks({ redisUrl }: World, variant: string): boolean {
  return redisUrl === undefined && variant.includes('redis')
}

const WORDS =
  'ride booked from the north gate to a landing field beyond every ring with seven bags and one cat'

/** Words in no order, so that it packs about as well as other prose. */
function noteOf(length: number): string {
  const words = WORDS.split(' ')
  let text = ''
  for (let state = 7; text.length < length; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    text += `${words[(state >>> 8) % words.length]} `
  }
  return text.slice(0, Math.max(0, length))
}
