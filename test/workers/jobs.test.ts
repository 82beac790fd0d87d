import { describe, expect, it } from 'vitest'
import type { ListedJob } from '../../src/engine/work.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { freshNode, jobRows } from './world.ts'

/** A node whose sink refuses the jobs named `bad` for as long as it is told to. */
async function world() {
  const made = await freshNode()
  const { work } = made.store
  if (work === undefined) throw new Error('The store keeps no jobs.')
  const sink = { isFussy: true, taken: [] as unknown[] }
  const workers = createWorkers(made.reprise, {
    sink: functionSink(async ({ id, name, args }) => {
      if (name === 'bad' && sink.isFussy) throw new Error('no such queue')
      sink.taken.push({ id, name, args })
    }),
    enqueuer: { attemptsMax: 1 },
  })
  const enqueue = async () => workers.enqueuer?.runOnce()
  return { ...made, jobs: work.jobs, sink, enqueue }
}

const namesOf = (jobs: readonly ListedJob[]) => jobs.map(({ name, state }) => [name, state])

describe('an operator', () => {
  it('lists staged jobs, newest first, page by page, by state and by record', async () => {
    const { jobs, enqueue, stageAll } = await world()
    await stageAll((stage) => stage('bad', { n: 1 }, { dedupeKey: 'k' }))
    await enqueue()
    const runAt = new Date('2100-01-01T00:00:00Z')
    await stageAll(async (stage) => {
      await stage('a', 1, { runAt })
      await stage('b', 2, { runAt })
    })

    const all = await jobs.list({ limit: 10 })
    expect(namesOf(all)).toEqual([
      ['b', 'waiting'],
      ['a', 'waiting'],
      ['bad', 'set_aside'],
    ])
    expect(all[0]).toMatchObject({ attempts: 0, lastError: null, setAsideAt: null, args: '2' })
    expect(all[0]?.runAt).toBe(runAt.getTime())
    expect(all[2]).toMatchObject({
      ...{ attempts: 1, lastError: 'Error: no such queue', dedupeKey: 'k', args: '{"n":1}' },
      ...{ id: expect.stringMatching(/^[\da-f-]{36}$/), setAsideAt: expect.any(Number) },
    })
    const first = await jobs.list({ limit: 2 })
    const before = first.at(-1)?.number ?? ''
    expect(namesOf(await jobs.list({ limit: 2, before }))).toEqual([['bad', 'set_aside']])
    expect(await jobs.list({ limit: 2, before: 'nonsense' })).toEqual([])
    expect(namesOf(await jobs.list({ limit: 9, state: 'set_aside' }))).toEqual([
      ['bad', 'set_aside'],
    ])
    expect(await jobs.list({ limit: 9, state: 'waiting' })).toHaveLength(2)
    const recordId = all[0]?.recordId ?? ''
    expect(namesOf(await jobs.list({ limit: 9, recordId }))).toEqual([
      ['b', 'waiting'],
      ['a', 'waiting'],
    ])
    expect(await jobs.list({ limit: 9, recordId: 'no record' })).toEqual([])
  })

  it('has a job that was set aside tried again, with the same id and as if never tried', async () => {
    const { jobs, enqueue, stageAll, sink, pool } = await world()
    await stageAll((stage) => stage('bad', { n: 1 }))
    await enqueue()
    expect(await enqueue()).toBe(0)
    const [job] = await jobs.list({ limit: 1 })
    const id = job?.id ?? ''

    sink.isFussy = false
    expect(await jobs.retry(id)).toBe(true)
    expect(await jobs.retry(id)).toBe(false)
    expect(await jobRows({ pool })).toMatchObject([{ attempts: 0, set_aside_at: null }])
    expect(await enqueue()).toBe(1)
    expect(sink.taken).toEqual([{ id, name: 'bad', args: { n: 1 } }])
    expect(await jobs.retry(id)).toBe(false)
    expect(await jobs.retry('no job')).toBe(false)
  })

  it('leaves a job that waits where it is', async () => {
    const { jobs, stageAll, pool } = await world()
    await stageAll((stage) => stage('a', 1, { runAt: new Date('2100-01-01T00:00:00Z') }))
    const [job] = await jobs.list({ limit: 1 })
    expect(await jobs.retry(job?.id ?? '')).toBe(false)
    expect(await jobRows({ pool })).toMatchObject([{ run_at: new Date('2100-01-01T00:00:00Z') }])
  })

  it('has one job where another of the same deduplication key waits already', async () => {
    const { jobs, enqueue, stageAll, sink } = await world()
    const stageBad = (n: number) => stageAll((stage) => stage('bad', { n }, { dedupeKey: 'k' }))
    await stageBad(1)
    await enqueue()
    await stageBad(2)
    const [waiting, aside] = await jobs.list({ limit: 9 })
    expect(waiting?.id).toBe(aside?.id)

    sink.isFussy = false
    expect(await jobs.retry(aside?.id ?? '')).toBe(true)
    expect(await jobs.list({ limit: 9 })).toEqual([waiting])
    expect(await enqueue()).toBe(1)
    expect(sink.taken).toMatchObject([{ args: { n: 2 } }])
  })
})
