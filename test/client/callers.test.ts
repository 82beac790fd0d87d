import { describe, expect, it } from 'vitest'
import { OutcomeUnknownError } from '../../src/client/errors.ts'
import { memoryJournal } from '../../src/client/journal.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { done, type Step, thrownBy, type World, world } from './world.ts'

/** A page on which one user after another is logged in. */
function page(steps: readonly Step[], options: ClientOptions = {}) {
  const session = { user: 'alice' }
  const made: World = world(steps, {
    caller: () => session.user,
    headers: () => ({ Authorization: `Bearer ${session.user}` }),
    ...options,
  })
  /** Who paid, in the order in which the server was asked. */
  const paid = () => made.seen.map(({ headers }) => headers.get('Authorization'))
  return { ...made, session, paid }
}

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await thrownBy(promise)
  if (!(error instanceof OutcomeUnknownError)) throw error
  return error.reason
}

describe('a request without a key', () => {
  it('is not sent with the token of somebody who logs in while the token is asked for', async () => {
    const shown = page([done], {
      headers: async () => {
        shown.session.user = 'bob'
        await Promise.resolve()
        return { Authorization: 'Bearer bob' }
      },
    })
    await expect(shown.client('account')).rejects.toMatchObject({ name: 'AbortError' })
    expect(shown.paid()).toEqual([])
  })
})

describe('an operation of somebody who has logged out', () => {
  it('is not sent again with the token of the next', async () => {
    const shown = page(['cut', done], {
      onEvent: ({ type }) => {
        if (type === 'retry') shown.session.user = 'bob'
      },
    })
    expect(await reasonOf(shown.client.post('pay', { json: 1 }))).toBe('caller')
    expect(shown.paid()).toEqual(['Bearer alice'])
  })

  it('that was begun without a network is not sent at all, and waits for its own caller', async () => {
    const { client, network, session, paid } = page([done])
    network.set(false)
    const sending = reasonOf(client.post('pay', { json: 1 }))
    await expect.poll(async () => (await client.journal.list())[0]?.state).toBe('queued')
    session.user = 'bob'
    network.set(true)
    expect(await sending).toBe('caller')
    expect(await client.resume()).toEqual([])
    expect(paid()).toEqual([])

    session.user = 'alice'
    expect(await client.resume()).toMatchObject([{ entry: { caller: 'alice' }, result: {} }])
    expect(paid()).toEqual(['Bearer alice'])
  })

  it('is not sent when the next one logs in while the token is asked for', async () => {
    const shown = page([done], {
      headers: async () => {
        shown.session.user = 'bob'
        await Promise.resolve()
        return { Authorization: 'Bearer bob' }
      },
    })
    expect(await reasonOf(shown.client.post('pay', { json: 1 }))).toBe('caller')
    expect(shown.paid()).toEqual([])
  })

  it('is not sent when the next one logs in while the journal is written', async () => {
    const memory = memoryJournal()
    const shown = page([done], {
      journal: {
        ...memory,
        async put(entry) {
          await memory.put(entry)
          if (entry.state === 'sent') shown.session.user = 'bob'
        },
      },
    })
    expect(await reasonOf(shown.client.post('pay', { json: 1 }))).toBe('caller')
    expect(shown.paid()).toEqual([])
  })

  it('stays in the journal when the next one logs in while many are resumed', async () => {
    const shown = page(['cut'], { attemptsMax: 1 })
    for (let at = 0; at < 12; at++) await thrownBy(shown.client.post(`pay/${at}`))
    const before = shown.seen.length
    const resumed = page([done], {
      journal: {
        ...memoryJournal(),
        list: async () => shown.client.journal.list(),
        get: async (id) => (await shown.client.journal.list()).find((entry) => entry.id === id),
        put: async () => {},
      },
      onEvent: ({ type }) => {
        if (type === 'answered') resumed.session.user = 'bob'
      },
    })
    const done12 = await resumed.client.resume()
    expect(before).toBe(12)
    expect(new Set(resumed.paid())).toEqual(new Set(['Bearer alice']))
    expect(done12.filter((one) => 'error' in one).length).toBeGreaterThan(0)
  })
})
