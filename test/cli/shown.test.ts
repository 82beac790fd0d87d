import { expect, test } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { combine } from '../../src/telemetry/combine.ts'
import { keepDuplicates } from '../../src/telemetry/keep-duplicates.ts'
import { keepStats } from '../../src/telemetry/keep-stats.ts'
import { DatabaseWorld } from './world.ts'

const world = new DatabaseWorld()
const LONG = `order-${'x'.repeat(80)}-end`

test('what nobody records is not shown as zero, with how to record it', async () => {
  await world.up()
  await world.record({ age: '1 minute', status: 201 })

  const stats = await world.on(['stats'])
  expect(stats.stdout).toMatch(/^checked +not recorded$/m)
  expect(stats.stdout).toContain('keepStats(store).onEvent')
  const list = await world.on(['keys', 'list'])
  expect(list.stdout).toContain('keepDuplicates(store).onEvent')
  expect((await world.on(['keys', 'get', 'k-1'])).stdout).toMatch(/^duplicates +not recorded$/m)
})

test('what is recorded is shown as it is', async () => {
  await world.up()
  const store = postgresStore(world.pool, { schema: world.schema })
  const [stats, duplicates] = [keepStats(store), keepDuplicates(store)]
  const onEvent = combine(stats.onEvent, duplicates.onEvent)
  const reprise = createReprise({ store, onEvent, replayCache: false })
  const request = { caller: 'c', operation: 'POST /charges', key: 'k', fingerprints: ['f'] }
  const answer = async () => ({ status: 201, headers: [], body: Buffer.from('ok') })
  await reprise.run(request, answer)
  await reprise.run(request, answer)
  await Promise.all([stats.close(), duplicates.close()])
  await reprise.close()

  const shown = await world.on(['stats'])
  expect(shown.stdout).toMatch(/^checked +2$/m)
  expect(shown.stdout).not.toContain('not recorded')
  const list = await world.on(['keys', 'list'])
  expect(list.stdout).not.toContain('keepDuplicates')
  expect((await world.on(['keys', 'get', 'k'])).stdout).toMatch(/^duplicates +1$/m)
})

test('a list fits the terminal, and is whole with --wide, in a pipe and as JSON', async () => {
  await world.up()
  await world.record({ age: '1 minute', status: 201, key: LONG })
  const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
  const tableOf = (text: string) => text.split('\n\n')[0] ?? ''

  const fitted = await world.on(['keys', 'list'], { typed: [] })
  expect(widest(tableOf(fitted.stdout))).toBeLessThanOrEqual(80)
  // Beginning and end, by which a key is known and confirmed.
  expect(fitted.stdout).toMatch(/order-x*….*-end/)
  const wide = await world.on(['keys', 'list', '--wide'], { typed: [] })
  const piped = await world.on(['keys', 'list'])
  const json = await world.on(['keys', 'list', '--json'], { typed: [] })
  for (const { stdout } of [wide, piped, json]) expect(stdout).toContain(LONG)
})
