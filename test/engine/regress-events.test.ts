import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EventListener } from '../../src/engine/events.ts'
import { createWorld, REQUEST, response, turn } from './world.ts'

describe('a listener that answers with a promise', () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  let others: NodeJS.UnhandledRejectionListener[] = []
  beforeEach(() => {
    others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', note)
  })
  afterEach(() => {
    process.removeAllListeners('unhandledRejection')
    for (const other of others) process.on('unhandledRejection', other)
  })

  it('breaks nothing when the promise is rejected', async () => {
    // TypeScript takes a function that answers with a promise for one that answers with nothing.
    const failing = async () => Promise.reject(new Error('metrics are down'))
    const { reprise } = createWorld({ onEvent: failing as unknown as EventListener })

    const result = await reprise.run(REQUEST, async () => response())
    await turn()

    expect(result.outcome).toBe('executed')
    expect(unhandled).toEqual([])
  })
})
