import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'
import { Chance } from '../engine/chance.ts'
import { atLength } from '../support/at-length.ts'
import { useProgram } from '../support/children.ts'
import type { OutboxMessage, OutboxTask } from './outbox-program.ts'
import { freshNode, node, type StageAll } from './world.ts'

const JOBS = atLength(10_000, 50_000)
const WRITERS = 8
const PER_TRANSACTION = 25
const BATCH_MAX = 200
const KILLS = 2
const ROLLBACK = 0.15
const LATE = 0.1
/** So many transactions of the same writer commit before a late one does. */
const LATE_BY = 8
/** What is rolled back has numbers from here on. */
const NEVER = 1_000_000

interface Arrival {
  readonly id: string
  readonly n: number
  readonly node: number
}

/** Hands out numbers until there are enough. */
function numbering() {
  let [next, never] = [0, NEVER]
  const take = (isRolledBack: boolean) => () => (isRolledBack ? never++ : next++)
  return {
    isOver: () => next >= JOBS,
    /** How many are to arrive: those below this number. */
    total: () => next,
    some: (isRolledBack: boolean) => Array.from({ length: PER_TRANSACTION }, take(isRolledBack)),
  }
}

/**
 * Stages jobs until there are enough of them. Some transactions are rolled back; some stay open while
 * later ones, whose jobs have higher numbers, come and go.
 */
async function write(stageAll: StageAll, numbers: ReturnType<typeof numbering>, seed: number) {
  const chance = new Chance(seed)
  let late = { ended: Promise.resolve(), release: () => {}, by: LATE_BY }
  const endLate = () => {
    late.release()
    return late.ended
  }
  while (!numbers.isOver()) {
    const isRolledBack = chance.happens(ROLLBACK)
    const batch = numbers.some(isRolledBack)
    const transact = (until: Promise<void>) =>
      stageAll(
        async (stage) => {
          for (const n of batch) await stage('job', n)
          await until
        },
        isRolledBack ? 'rollback' : 'commit',
      )
    if (late.by >= LATE_BY && chance.happens(LATE)) {
      await endLate()
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      late = { ended: transact(released), release, by: 0 }
      continue
    }
    await transact(Promise.resolve())
    late.by++
    if (late.by >= LATE_BY) await endLate()
  }
  await endLate()
}

describe('the outbox', () => {
  const start = useProgram<OutboxTask, OutboxMessage>(
    join(import.meta.dirname, 'outbox-program.ts'),
  )

  it('hands over what 8 writers commit, late or not, and nothing else, though nodes are killed', {
    timeout: 120_000,
  }, async () => {
    const world = await freshNode()
    const { url } = world.database
    await query(url, 'create table arrivals (place serial, id uuid, n integer, node integer)')

    const task = { url, batchMax: BATCH_MAX, batchesBeforeDeath: 0 }
    const survivors = [start(task), start(task)]
    const killed = Array.from({ length: KILLS }, async (_, index) => {
      const victim = start({ ...task, batchesBeforeDeath: 3 + 4 * index })
      const { said, pid } = await victim.message()
      expect(said).toBe('delivered')
      await victim.kill()
      return pid
    })

    const numbers = numbering()
    const writers = Array.from({ length: WRITERS }, (_, seed) => {
      return write(node(world.database).stageAll, numbers, seed)
    })
    const [victims] = await Promise.all([Promise.all(killed), ...writers])
    await vi.waitUntil(
      async () => (await query(url, 'select from reprise.staged_jobs limit 1')).rowCount === 0,
      { timeout: 90_000, interval: 50 },
    )
    for (const survivor of survivors) {
      survivor.send('stop')
      expect(await survivor.message()).toMatchObject({ said: 'stopped' })
    }

    const { rows } = await query(url, 'select id, n, node from arrivals order by place')
    check(rows, { victims, total: numbers.total() })
  })
})

function check(
  arrivals: readonly Arrival[],
  { victims, total }: { victims: readonly number[]; total: number },
): void {
  const byNumber = new Map<number, Arrival[]>()
  for (const arrival of arrivals) {
    byNumber.set(arrival.n, [...(byNumber.get(arrival.n) ?? []), arrival])
  }
  expect(total).toBeGreaterThanOrEqual(JOBS)
  expect([...byNumber.keys()].sort((a, b) => a - b)).toEqual([...Array(total).keys()])
  expect(new Set(arrivals.map(({ id }) => id)).size).toBe(total)

  // Twice only what was delivered by a node that was killed before it could remove it.
  const twice = [...byNumber.values()].filter(({ length }) => length > 1)
  expect(twice.length).toBeGreaterThan(0)
  expect(arrivals.length - total).toBeLessThanOrEqual(KILLS * BATCH_MAX)
  for (const [first, ...again] of twice) {
    expect(victims).toContain(first?.node)
    expect(new Set(again.map(({ id }) => id))).toEqual(new Set([first?.id]))
  }

  // Late ones were late: they arrived behind jobs that were staged long after them.
  let highest = 0
  const overtaken = arrivals.filter(({ n }) => {
    highest = Math.max(highest, n)
    return highest - n > WRITERS * PER_TRANSACTION
  })
  expect(overtaken.length).toBeGreaterThan(100)
}
