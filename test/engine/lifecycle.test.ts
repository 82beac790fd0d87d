import { describe, expect, it } from 'vitest'
import { createTroubled, RESET } from './troubled.ts'
import { Effect, REQUEST, response, turn } from './world.ts'

describe('a store that is not ready yet', () => {
  it('is not asked before it is', async () => {
    const world = createTroubled()
    const effect = new Effect()
    world.trouble('ready', { toMs: 1000 })
    const run = world.reprise.run(REQUEST, effect.quick)

    await world.wait(900)
    expect((await world.store.list({ limit: 1 })).records).toEqual([])
    await world.wait(200)

    expect((await run).outcome).toBe('executed')
  })
})

describe('closing', () => {
  it('waits for an answer that is still to be stored', async () => {
    const world = createTroubled()
    world.trouble('finish', RESET, RESET)
    const run = await world.reprise.run(REQUEST, async () => response())
    let isClosed = false
    const closing = world.reprise.close().then(() => {
      isClosed = true
    })
    await turn()

    expect(run).toMatchObject({ fate: 'not_stored' })
    expect(isClosed).toBe(false)
    await world.wait(200)
    await closing
  })
})
