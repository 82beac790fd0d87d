/**
 * `npm run wires -- [--seeds 1..1000] [--seed 7] [--library pg,pg-pipeline,postgres.js,node-redis,ioredis]
 * [--minutes 10]`
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { query, startPostgres } from '../../../scripts/servers/postgres.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { countDeaths } from './deaths.ts'
import { play, shrink } from './play.ts'
import { isOnPostgres, type Library, programOf } from './program.ts'
import { World } from './world.ts'

const USAGE = 'npm run wires -- [--seeds 1..1000 | --seed 7] [--library pg,…] [--minutes 10]'
const LIBRARIES: readonly Library[] = ['pg', 'pg-pipeline', 'postgres.js', 'node-redis', 'ioredis']

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1..200' },
      seed: { type: 'string' },
      library: { type: 'string', default: '' },
      minutes: { type: 'string', default: '600' },
    },
  })
  const [from, to] = range(values.seed ?? values.seeds)
  const only = LIBRARIES.filter((library) => values.library.split(',').includes(library))
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  const name = `reprise_wires_${process.pid}_${randomBytes(4).toString('hex')}`
  await query(postgres.url, `create database ${name} template template0`)
  const url = new URL(postgres.url)
  url.pathname = `/${name}`
  const servers = { postgres: url.href, redis: 'url' in redis ? redis.url : undefined }
  const world = await World.open(servers)
  const stage = { world, deaths: countDeaths() }
  const until = performance.now() + Number(values.minutes) * 60_000
  const sum: Record<string, number> = { programs: 0, violations: 0 }
  let slowest = { seed: 0, ms: 0 }
  try {
    for (let seed = from; seed <= to && performance.now() < until; seed++) {
      const program = programOf(seed, only)
      if (servers.redis === undefined && !isOnPostgres(program.library)) continue
      const startedAt = performance.now()
      const { violations, counts } = await play(program, stage)
      const ms = performance.now() - startedAt
      if (ms > slowest.ms) slowest = { seed, ms: Math.round(ms) }
      sum['programs'] = (sum['programs'] ?? 0) + 1
      for (const [deed, count] of Object.entries(counts)) sum[deed] = (sum[deed] ?? 0) + count
      if (violations.length > 0) {
        sum['violations'] = (sum['violations'] ?? 0) + 1
        process.exitCode = 1
        console.log(`seed ${seed}\n  ${violations.join('\n  ')}\n  ${JSON.stringify(program)}`)
        console.log(`  ${JSON.stringify(await shrink(program, stage))}`)
      }
      if (seed % 100 === 0) console.log(JSON.stringify({ seed, ...sum, slowest }))
    }
    console.log(JSON.stringify({ ...sum, slowest }))
  } finally {
    await world.close()
    await query(postgres.url, `drop database if exists ${name} with (force)`)
    await Promise.all([postgres.stop(), 'stop' in redis ? redis.stop() : undefined])
  }
}

function range(text: string): readonly [number, number] {
  const [from = Number.NaN, to = from] = text.split('..').map(Number)
  if (Number.isSafeInteger(from) && Number.isSafeInteger(to)) return [from, to]
  throw new Error(`${text} is no seed and no range of seeds. ${USAGE}`)
}

await main()
// Sockets that are still closing keep nobody waiting.
process.exit()
