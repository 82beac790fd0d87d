import { describe, expect, it } from 'vitest'
import { type JournalStore, memoryJournal } from '../../src/client/journal.ts'
import { done, thrownBy, world } from './world.ts'

const never = () => new Promise<never>(() => {})

/** Lets everything that is due happen. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the deadline of an operation', () => {
  it('covers a function for headers that hangs, and lets the next one of the resource go on', async () => {
    let isHanging = true
    const headers = () => (isHanging ? never() : {})
    const { client, clock, seen } = world([done], { headers })
    const first = thrownBy(client.post('a', { resource: 'cart', deadlineMs: 1000 }))
    await turn()
    isHanging = false
    const second = client.post('b', { resource: 'cart' })
    await turn()
    clock.advance(1000)
    expect(await first).toMatchObject({ reason: 'deadline', sent: false })
    // The first one is in the journal, and comes first.
    await second
    expect(seen.map(({ url }) => url.at(-1))).toEqual(['a', 'b'])
  })

  const hanging: readonly (keyof JournalStore)[] = ['put', 'get', 'list', 'lock']
  it.each(hanging)('covers a journal whose %s hangs, and nothing is sent', async (verb) => {
    const journal = { ...memoryJournal(), [verb]: never }
    const { client, clock, seen } = world([done], { journal })
    const sending = thrownBy(client.post('a', { deadlineMs: 1000 }))
    await turn()
    clock.advance(1000)
    await turn()
    clock.advance(1000)
    const error = await sending
    expect(error).toBeInstanceOf(Error)
    expect(seen).toHaveLength(0)
  })

  it('is not waited for once the answer is there: a journal that hangs then is reported', async () => {
    const memory = memoryJournal()
    const put: JournalStore['put'] = (entry) =>
      entry.state === 'answered' ? never() : memory.put(entry)
    const { client, clock, events, arrived } = world([done], { journal: { ...memory, put } })
    const sending = client.post('a')
    await arrived(1)
    await turn()
    clock.advance(1000)
    expect((await sending).response.status).toBe(201)
    expect(events.map(({ type }) => type)).toContain('journal_error')
  })

  it('gives back a lock that comes when the time was up', async () => {
    let grant = (_: () => void) => {}
    const lock = () =>
      new Promise<() => void>((resolve) => {
        grant = resolve
      })
    const { client, clock } = world([done], { journal: { ...memoryJournal(), lock } })
    const sending = thrownBy(client.post('a', { deadlineMs: 1000 }))
    await turn()
    clock.advance(1000)
    expect(await sending).toMatchObject({ reason: 'deadline', sent: false })
    let isReleased = false
    grant(() => {
      isReleased = true
    })
    await turn()
    expect(isReleased).toBe(true)
  })

  it('covers the wait for those before it', async () => {
    const { client, clock, seen } = world(['hang'])
    void thrownBy(client.post('a', { resource: 'cart', deadlineMs: 1e9 }))
    const second = thrownBy(client.post('b', { resource: 'cart', deadlineMs: 1000 }))
    await expect.poll(() => seen.length).toBe(1)
    clock.advance(1000)
    expect(await second).toMatchObject({ reason: 'deadline', sent: false })
  })
})

describe('the signal of an operation', () => {
  it.each([
    ['headers', { headers: never }],
    ['the journal', { journal: { ...memoryJournal(), get: never } }],
  ])('ends the wait for %s', async (_, options) => {
    const { client, seen } = world([done], options)
    const control = new AbortController()
    const sending = thrownBy(client.post('a', { signal: control.signal }))
    await turn()
    control.abort(new Error('enough'))
    expect(await sending).toMatchObject({ message: 'enough' })
    expect(seen).toHaveLength(0)
  })
})
