import { describe, expect, it } from 'vitest'
import { PendingWork } from '../../src/engine/pending-work.ts'
import { Gate } from '../../src/testing/adapter/world.ts'
import { createWorld, REQUEST, response, turn } from './world.ts'

const LEASE_MS = 1000

describe('an answer of a handler that goes on', () => {
  it.each([400, 408, 429, 503])(
    'with status %i frees no key until the work is over',
    async (status) => {
      const world = createWorld({ leaseMs: LEASE_MS, afterCrash: 'rerun' })
      const work = new Gate()
      let runs = 0
      const handler = async (run: { holdUntil(work: Promise<void>): void }) => {
        runs++
        run.holdUntil(work.opened)
        return response(status)
      }
      const first = await world.reprise.run(REQUEST, handler)
      expect(first).toMatchObject({ outcome: 'executed', fate: 'suspended', expiresInMs: null })

      // The lease is renewed: neither this process nor another takes over.
      await world.pass(5 * LEASE_MS)
      expect(await world.reprise.run(REQUEST, handler)).toMatchObject({ outcome: 'in_progress' })
      expect(await world.process().run(REQUEST, handler)).toMatchObject({ outcome: 'in_progress' })
      expect(runs).toBe(1)

      work.open()
      await turn()
      expect(await world.process().run(REQUEST, async () => response())).toMatchObject({
        fate: 'stored',
      })
    },
  )

  it('that throws frees no key until the work is over', async () => {
    const world = createWorld({ marksEffect: true })
    const work = new Gate()
    const failing = world.reprise.run(REQUEST, async (run) => {
      run.holdUntil(work.opened)
      throw new Error('broke')
    })
    await expect(failing).rejects.toThrow('broke')
    const again = () => world.reprise.run(REQUEST, async () => response())
    expect(await again()).toMatchObject({ outcome: 'in_progress' })
    work.open()
    await turn()
    expect(await again()).toMatchObject({ outcome: 'executed', fate: 'stored' })
  })

  it('is stored at once where it is to be stored', async () => {
    const world = createWorld()
    const pending = await world.reprise.run(REQUEST, async (run) => {
      run.holdUntil(new Promise(() => {}))
      return response()
    })
    expect(pending).toMatchObject({ fate: 'stored' })
  })

  it('is judged by what the handler has marked by its end', async () => {
    const world = createWorld()
    const work = new Gate()
    await world.reprise.run(REQUEST, async (run) => {
      run.holdUntil(work.opened.then(() => run.markEffect()))
      return response(429)
    })
    work.open()
    await turn()
    const again = await world.reprise.run(REQUEST, async () => response())
    expect(again).toMatchObject({ outcome: 'replayed', response: { status: 429 } })
  })

  it('is waited for by close(), within its grace', async () => {
    const world = createWorld()
    const work = new Gate()
    await world.reprise.run(REQUEST, async (run) => {
      run.holdUntil(work.opened)
      return response(503)
    })
    let isClosed = false
    const closing = world.reprise.close({ graceMs: 1000 }).then(() => {
      isClosed = true
    })
    await turn()
    expect(isClosed).toBe(false)
    await world.pass(1100)
    await closing
    work.open()
  })
})

describe('work that is pending', () => {
  it('counts for no work that only returns', async () => {
    const pending = new PendingWork()
    pending.add((async () => {})())
    expect(pending.isPending).toBe(true)
    expect(await pending.goesOn()).toBe(false)
  })

  it('is over when the last of it has settled, however it did', async () => {
    const pending = new PendingWork()
    const [first, second] = [new Gate(), new Gate()]
    pending.add(first.opened.then(() => Promise.reject(new Error('broke'))))
    let isOver = false
    const over = pending.over().then(() => {
      isOver = true
    })
    pending.add(second.opened)
    first.open()
    await turn()
    expect(isOver).toBe(false)
    second.open()
    await over
    expect(pending.isPending).toBe(false)
  })
})
