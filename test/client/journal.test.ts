import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { EntryState } from '../../src/client/entry.ts'
import { JournalError, OutcomeUnknownError } from '../../src/client/errors.ts'
import { fileJournal } from '../../src/client/file-journal.ts'
import { type JournalStore, memoryJournal } from '../../src/client/journal.ts'
import { JournalFiles, machine } from '../../src/client/journal-files.ts'
import { localStorageJournal } from '../../src/client/web-journals.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { done, START, thrownBy, world } from './world.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-journal-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** What browsers have, as far as a journal sees it; the real one is in the tests with Chromium. */
function storage(): Storage {
  const items = new Map<string, string>([['other', 'not ours']])
  return {
    get length() {
      return items.size
    },
    key: (at) => [...items.keys()][at] ?? null,
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => void items.set(name, value),
    removeItem: (name) => void items.delete(name),
    clear: () => items.clear(),
  }
}

const STORES: readonly (readonly [string, () => JournalStore])[] = [
  ['memory', memoryJournal],
  ['a folder', () => fileJournal({ folder: join(temporaryFolder(), 'journal') })],
  ['localStorage', () => localStorageJournal({ storage: storage() })],
]

describe.each(STORES)('a journal in %s', (_, store) => {
  it('has the operation before it is sent, and marks it when it is answered', async () => {
    const journal = store()
    const { client, arrived, network } = world(['hang'], { journal })
    const waiting = world([done], { journal: store() })
    network.set(false)
    const sending = thrownBy(client.post('charges', { json: { amount: 1 }, deadlineMs: 1e9 }))
    await expect.poll(async () => (await journal.list())[0]?.state).toBe('queued')
    network.set(true)
    await arrived(1)
    const [sent] = await client.journal.list()
    expect(sent).toMatchObject({ state: 'sent', sentAt: START, body: '{"amount":1}', attempts: 0 })
    expect(sent?.headers).toContainEqual(['content-type', 'application/json'])
    void sending

    await waiting.client.post('charges', { json: { amount: 1 } })
    expect(await waiting.client.journal.list()).toMatchObject([
      { state: 'answered', status: 201, attempts: 1, answeredAt: START, body: null, headers: [] },
    ])
  })

  it('lets another client finish what was left, with the same key and the same bytes', async () => {
    const journal = store()
    const first = world(['cut'], { journal })
    const bytes = new Uint8Array([0, 255, 10, 13, 0xef, 0xbb, 0xbf])
    const left = [
      await thrownBy(first.client.post('a', { json: { text: 'ä\u2028' }, headers: { B: 'c' } })),
      await thrownBy(first.client.put('b?x=1', { body: bytes, credentials: 'include' })),
      await thrownBy(first.client.delete('c', { body: '\ufefftext' })),
    ]
    const second = world([done], { journal, baseUrl: 'https://elsewhere.example' })
    const resumed = await second.client.resume()

    expect(resumed.map((one) => 'result' in one && one.result.key)).toEqual(
      left.map((error) => error instanceof OutcomeUnknownError && error.key),
    )
    const byUrl = (seen: typeof first.seen) =>
      new Map(seen.map(({ url, method, body, key }) => [url, { method, body, key }]))
    expect(byUrl(second.seen)).toEqual(byUrl(first.seen))
    expect(second.seen.find(({ method }) => method === 'POST')?.headers.get('B')).toBe('c')
    expect(await second.client.resume()).toEqual([])
  })

  it('gives a lock to one at a time', async () => {
    const journal = store()
    const release = await journal.lock('a')
    expect(release).toBeTypeOf('function')
    expect(await journal.lock('a')).toBeUndefined()
    const other = await journal.lock('b')
    expect(other).toBeTypeOf('function')
    await release?.()
    await other?.()
    const again = await journal.lock('a')
    expect(again).toBeTypeOf('function')
    await again?.()
  })

  it('forgets what it is told to forget', async () => {
    const { client } = world(['cut'], { journal: store() })
    await thrownBy(client.post('a'))
    const [entry] = await client.journal.list()
    await client.journal.forget(entry?.id ?? '')
    expect([await client.journal.list(), await client.resume()]).toEqual([[], []])
  })
})

describe('the journal', () => {
  it('is bounded: answered operations go oldest first, open ones are never dropped', async () => {
    const { client, seen } = world([done, done, done, 'cut'], {
      ...{ attemptsMax: 1, journalLimits: { answeredMax: 2, openMax: 2 } },
    })
    for (const path of ['a', 'b', 'c', 'd', 'e']) await client.post(path).catch(() => {})
    const kept = (await client.journal.list()).map(({ url, state }) => `${url.at(-1)} ${state}`)
    expect(kept).toEqual(['b answered', 'c answered', 'd sent', 'e sent'])

    await expect(client.post('f')).rejects.toThrow(JournalError)
    expect(seen).toHaveLength(5)
    // What is open already may be tried again.
    await client.resume()
    expect(seen).toHaveLength(7)
  })

  it('keeps what was answered last, whenever it was begun', async () => {
    const { client } = world(['cut', done], {
      ...{ attemptsMax: 1, journalLimits: { answeredMax: 2 } },
    })
    await thrownBy(client.post('a'))
    await client.post('b')
    await client.resume()
    await client.post('c')
    const kept = (await client.journal.list()).map(({ url }) => url.at(-1))
    expect(kept).toEqual(['a', 'c'])
  })

  it('may keep nothing of what is answered', async () => {
    const { client } = world([done], { journalLimits: { answeredMax: 0 } })
    await client.post('a')
    expect(await client.journal.list()).toEqual([])
  })

  it('that is full notices that another tab has made room', async () => {
    const journal = memoryJournal()
    const limits = { journal, journalLimits: { openMax: 1 }, attemptsMax: 1 }
    const first = world(['cut', done], limits)
    await thrownBy(first.client.post('a'))
    await world([done], limits).client.resume()
    expect((await first.client.post('b')).response.status).toBe(201)
  })

  it('that can not be written keeps the operation from being sent', async () => {
    const put = async () => {
      throw new Error('quota')
    }
    const { client, seen } = world([done], { journal: { ...memoryJournal(), put } })
    await expect(client.post('a')).rejects.toMatchObject({
      ...{ name: 'JournalError', cause: { message: 'quota' } },
    })
    expect(seen).toEqual([])
  })

  it('that can not be written afterwards does not cost the answer', async () => {
    const memory = memoryJournal()
    const put: JournalStore['put'] = async (entry) => {
      if (entry.state === 'answered') throw new Error('quota')
      return memory.put(entry)
    }
    const remove = () => Promise.reject(new Error('quota'))
    const { client, events } = world([done], { journal: { ...memory, put, remove } })
    expect((await client.post('a')).response.status).toBe(201)
    expect(events.map(({ type }) => type)).toEqual(['attempt', 'journal_error', 'answered'])
    expect(await memory.list()).toMatchObject([{ state: 'sent' }])
  })

  it('holds no secret, and a resumed operation gets its own from the client', async () => {
    const journal = memoryJournal()
    const headers = {
      ...{ Authorization: 'Bearer s3cret', 'X-Api-Key': 's3cret', Cookie: 's3cret' },
      ...{ 'X-CSRF-Token': 's3cret', 'X-Pin': 's3cret', 'X-Kind': 'kept' },
    }
    const options = { journal, secretHeaders: /^x-pin$/ }
    const first = world(['cut'], { ...options, headers: { 'X-Password': 's3cret' } })
    await thrownBy(first.client.post('a', { headers }))
    expect(first.seen[0]?.headers.get('Authorization')).toBe('Bearer s3cret')
    expect(first.seen[4]?.headers.get('Authorization')).toBe('Bearer s3cret')
    expect(JSON.stringify(await journal.list())).not.toContain('s3cret')
    expect(JSON.stringify(await journal.list())).toContain('kept')

    const second = world([done], { ...options, headers: { Authorization: 'Bearer fresh' } })
    await second.client.resume()
    expect(second.seen[0]?.headers.get('Authorization')).toBe('Bearer fresh')
    expect(second.seen[0]?.headers.get('X-Kind')).toBe('kept')
    expect(second.seen[0]?.key).toBe(first.seen[0]?.key)
  })

  it.each<[string, (bob: ReturnType<typeof world>) => Promise<unknown>]>([
    ['resume()', ({ client }) => client.resume()],
    ['resume() of that key', ({ client }) => client.resume({ key: 'k' })],
    [
      'the network that comes back',
      async ({ network }) => {
        network.set(false)
        network.set(true)
        await new Promise((resolve) => setImmediate(resolve))
      },
    ],
    ['an operation of the same resource', ({ client }) => client.post('b', { resource: 'cart' })],
    [
      'an operation with the same key',
      ({ client }) => client.post('a', { key: 'k', resource: 'cart', json: 'of bob' }),
    ],
  ])('is not resumed on behalf of another caller, by %s', async (_, act) => {
    const journal = memoryJournal()
    const ann = world(['cut'], { journal, caller: 'ann', attemptsMax: 1 })
    await thrownBy(ann.client.post('a', { key: 'k', resource: 'cart', json: 'of ann' }))
    const [left] = await journal.list()
    const bob = world([done], { journal, caller: () => 'bob' })
    await act(bob)
    const bodies = bob.seen.map(({ body }) => body && new TextDecoder().decode(body))
    expect(bodies).not.toContain('"of ann"')
    expect(await journal.get(left?.id ?? '')).toEqual(left)
    expect(await journal.list()).toHaveLength(1 + bob.seen.length)

    const again = world([done], { journal, caller: 'ann' })
    expect(await again.client.resume()).toMatchObject([{ result: { key: 'k' } }])
    expect(again.seen).toMatchObject([{ key: 'k', body: new TextEncoder().encode('"of ann"') }])
  })

  it('refuses a key of an operation that is not settled for another request', async () => {
    const { client, seen } = world(['cut'], { attemptsMax: 1 })
    await thrownBy(client.post('a', { key: 'k', json: 1 }))
    await expect(client.post('a', { key: 'k', json: 2 })).rejects.toThrow(TypeError)
    expect(seen).toHaveLength(1)
  })

  it('goes on with an operation whose key is given again, and counts its age from the start', async () => {
    const { client, clock, seen } = world(['cut', done, done], { attemptsMax: 1 })
    const error = await thrownBy(client.post('a', { json: 1 }))
    const key = error instanceof OutcomeUnknownError ? error.key : ''
    clock.advance(1000)
    expect(await client.post('a', { key, json: 1 })).toMatchObject({ key, attempts: 2 })
    expect(await client.journal.list()).toMatchObject([{ sentAt: START, state: 'answered' }])
    clock.advance(86_400_000)
    expect(await thrownBy(client.post('a', { key, json: 1 }))).toMatchObject({
      reason: 'retention',
    })
    expect(seen).toHaveLength(2)
  })

  it('leaves to another tab or process what it is at work on', async () => {
    const journal = memoryJournal()
    const busy = world(['hang'], { journal })
    void thrownBy(busy.client.post('a'))
    await busy.arrived(1)
    const other = world([done], { journal })
    expect(await other.client.resume()).toEqual([])
    expect(other.seen).toEqual([])
  })

  it('is resumed once, also by two at the same time', async () => {
    const journal = memoryJournal()
    for (const path of ['a', 'b', 'c']) {
      await thrownBy(world(['cut'], { journal }).client.post(path))
    }
    const [one, two] = [world([done], { journal }), world([done], { journal })]
    const results = await Promise.all([
      one.client.resume(),
      two.client.resume(),
      one.client.resume(),
    ])
    expect(results.flat()).toHaveLength(3)
    expect(one.seen.length + two.seen.length).toBe(3)
  })

  it('may be resumed for one key, and is stopped by a signal', async () => {
    const { client, seen } = world(['cut', 'cut', done], { attemptsMax: 1 })
    await thrownBy(client.post('a', { key: 'one' }))
    await thrownBy(client.post('b', { key: 'two' }))
    expect(await client.resume({ key: 'two' })).toMatchObject([{ result: { key: 'two' } }])
    expect(seen).toHaveLength(3)
    expect(await client.resume({ signal: AbortSignal.abort() })).toMatchObject([
      { error: { key: 'one', reason: 'aborted' } },
    ])
    expect(seen).toHaveLength(3)
    expect(await client.resume()).toMatchObject([{ result: { key: 'one' } }])
  })
})

describe('a journal in a folder', () => {
  it('can be read by its owner only', async () => {
    const folder = join(temporaryFolder(), 'deep', 'journal')
    const { client } = world(['cut'], { journal: fileJournal({ folder }) })
    await thrownBy(client.post('a', { json: { card: 4242 } }))
    // The file of its lock goes a moment later.
    const onlyEntry = [expect.stringMatching(/^[0-9a-f]{64}\.json$/)]
    await expect.poll(() => readdir(folder)).toEqual(onlyEntry)
    const [name = ''] = await readdir(folder)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
  })

  it('leaves nothing behind but its entries', async () => {
    const folder = temporaryFolder()
    const { client } = world(['cut', done], { journal: fileJournal({ folder }) })
    await client.post('a')
    expect(await readdir(folder)).toHaveLength(1)
  })

  it('takes the lock of a process that is gone, and no other', async () => {
    const folder = temporaryFolder()
    const clock = new FakeClock(Date.now())
    const one = fileJournal({ folder, clock })
    const two = fileJournal({ folder, clock })
    const release = await one.lock('a')
    expect(await two.lock('a')).toBeUndefined()
    // Its holder shows that it lives, for as long as it does.
    for (let i = 0; i < 10; i++) {
      clock.advance(5_000)
      await expect.poll(async () => newest(folder)).toBeGreaterThan(clock.unix() - 100)
    }
    expect(await two.lock('a')).toBeUndefined()

    const [file = ''] = await readdir(folder)
    await release?.()
    expect(await readdir(folder)).toEqual([])
    for (const [holder, isFree] of [
      // No process has this number.
      [`4194999 ${machine} x`, true],
      // A former process with the number of this one.
      [`${process.pid} ${machine} x`, true],
      [`${process.ppid} ${machine} x`, false],
      ['1 another-machine x', false],
    ] as const) {
      writeFileSync(join(folder, file), holder)
      utimesSync(join(folder, file), clock.unix() / 1000, clock.unix() / 1000)
      const taken = await one.lock('a')
      expect([holder, taken !== undefined]).toEqual([holder, isFree])
      await taken?.()
      if (isFree) expect(await readdir(folder)).toEqual([])
    }
    clock.advance(120_000)
    const late = await one.lock('a')
    expect(late).toBeTypeOf('function')
    await late?.()
  })

  it('is shared by containers: a process of the same number elsewhere is another one', async () => {
    const folder = temporaryFolder()
    const journal = fileJournal({ folder })
    const elsewhere = machine.replace(/./g, 'f')
    const theirs = [
      `a.json.${elsewhere}-4194999-${crypto.randomUUID()}.tmp`,
      `a.lock.${elsewhere}-${process.pid}-${crypto.randomUUID()}.tmp`,
    ]
    const ours = `a.json.${machine}-4194999-${crypto.randomUUID()}.tmp`
    for (const name of [...theirs, ours]) writeFileSync(join(folder, name), '')
    await journal.list()
    expect((await readdir(folder)).sort()).toEqual(theirs.sort())

    // Whoever wrote it is gone for certain after an hour.
    const late = new FakeClock(Date.now() + 3_700_000)
    await fileJournal({ folder, clock: late }).list()
    expect(await readdir(folder)).toEqual([])
  })

  it('does not say that it is written when somebody has removed what was to be moved', async () => {
    const folder = temporaryFolder()
    const files = new JournalFiles(folder)
    const moving = files.move.bind(files)
    files.move = async (name, to) => {
      await files.remove(name)
      return moving(name, to)
    }
    await expect(files.write('a.json', '{}', true)).rejects.toThrow('was removed from the journal')
  })

  it('gives a lock to one of many processes that have one number', async () => {
    const folder = temporaryFolder()
    const names = new Set(Array.from({ length: 100 }, () => new JournalFiles(folder).beside('a')))
    expect(names.size).toBe(100)
  })

  it('leaves nothing beside the files when the disk is full', async () => {
    const folder = temporaryFolder()
    const files = new JournalFiles(folder)
    files.moveForCertain = () => Promise.reject(new Error('ENOSPC'))
    await expect(files.write('a.json', '{}', true)).rejects.toThrow('ENOSPC')
    expect(await readdir(folder)).toEqual([])
  })

  it('works again once the folder can be made', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const { client, seen } = world([done], {
      journal: fileJournal({ folder: join(file, 'journal') }),
    })
    expect(await thrownBy(client.post('a'))).toBeInstanceOf(JournalError)
    rmSync(file)
    expect((await client.post('a')).response.status).toBe(201)
    expect(seen).toHaveLength(1)
  })

  it('goes on beside a damaged file, names it, and does not send the operation that was in it', async () => {
    const folder = temporaryFolder()
    const left = world(['cut'], { journal: fileJournal({ folder }), attemptsMax: 1 })
    await thrownBy(left.client.post('a', { key: 'damaged' }))
    const [name = ''] = await readdir(folder)
    writeFileSync(join(folder, name), '{"id":')

    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    onTestFinished(() => void process.removeListener('warning', warn))
    const { client, seen } = world([done], { journal: fileJournal({ folder }) })
    expect((await client.post('b')).response.status).toBe(201)
    expect(await client.resume()).toEqual([])
    await expect
      .poll(() => warnings.map(({ message }) => message))
      .toEqual([expect.stringContaining(join(folder, name))])

    const error = await thrownBy(client.post('a', { key: 'damaged' }))
    expect(error).toBeInstanceOf(JournalError)
    expect(error).toMatchObject({ message: expect.stringContaining(name) })
    expect(seen.map(({ url }) => url.at(-1))).toEqual(['b'])
  })
})

describe('a journal in localStorage', () => {
  it('goes on beside items of somebody else that begin as its own do', async () => {
    const items = storage()
    items.setItem('reprise:theme', 'dark')
    items.setItem('reprise:settings', '{"a":1}')
    const { warn } = console
    let warnings = 0
    console.warn = () => void warnings++
    onTestFinished(() => {
      console.warn = warn
    })
    const { client } = world([done], { journal: localStorageJournal({ storage: items }) })
    expect((await client.post('a')).response.status).toBe(201)
    expect(await client.journal.list()).toHaveLength(1)
    expect(warnings).toBe(2)
  })
})

describe('a journal that fails', () => {
  it.each(['get', 'list', 'lock', 'remove'] as const)(
    'in %s says so as a JournalError',
    async (verb) => {
      const broken = { ...memoryJournal(), [verb]: () => Promise.reject(new Error('no disk')) }
      const { client, seen } = world(['cut'], { journal: broken, attemptsMax: 1 })
      const asked = {
        get: () => client.post('a'),
        lock: () => client.post('a'),
        list: () => client.resume(),
        remove: () => client.journal.forget('a'),
      }
      const error = await thrownBy(asked[verb]())
      expect(error).toBeInstanceOf(JournalError)
      expect(error).toMatchObject({ message: expect.stringContaining('no disk') })
      expect(seen).toHaveLength(0)
    },
  )
})

async function newest(folder: string): Promise<number> {
  const [name = ''] = await readdir(folder)
  return (await stat(join(folder, name))).mtimeMs
}

describe('an operation that fails before it is sent', () => {
  /** A journal whose first write in a state comes to an end only when it is let go. */
  function slow(state: EntryState) {
    const memory = memoryJournal()
    let letGo = () => {}
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const put: JournalStore['put'] = async (entry) => {
      if (entry.state === state) await gate
      return memory.put(entry)
    }
    return { journal: { ...memory, put }, letGo: () => letGo() }
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  it('is not in the journal when the write that failed had come through', async () => {
    const memory = memoryJournal()
    const put: JournalStore['put'] = async (entry) => {
      await memory.put(entry)
      throw new Error('no answer')
    }
    const { client, seen } = world([done], { journal: { ...memory, put } })
    expect(await thrownBy(client.post('a'))).toBeInstanceOf(JournalError)
    expect(await memory.list()).toEqual([])
    expect(seen).toEqual([])
  })

  it('is not in the journal when it was aborted during a write that comes through afterwards', async () => {
    const { journal, letGo } = slow('sent')
    const { client } = world([done], { journal })
    const control = new AbortController()
    const sending = thrownBy(client.post('a', { signal: control.signal }))
    await turn()
    control.abort(new Error('enough'))
    await turn()
    letGo()
    expect(await sending).toMatchObject({ message: 'enough' })
    expect(await journal.list()).toEqual([])
  })

  it('is said to stay where the journal does not let go of it', async () => {
    const { journal, letGo } = slow('sent')
    const { client, clock } = world([done], { journal })
    const control = new AbortController()
    const sending = thrownBy(client.post('a', { signal: control.signal }))
    await turn()
    control.abort(new Error('enough'))
    await turn()
    clock.advance(1000)
    expect(await sending).toMatchObject({ reason: 'aborted', sent: false })
    letGo()
    await turn()
    expect(await journal.list()).toHaveLength(1)
  })

  it('is said to stay where the journal can not remove it', async () => {
    const memory = memoryJournal()
    const { client, network } = world([done], {
      headers: () => {
        throw new Error('no token')
      },
      journal: { ...memory, remove: () => Promise.reject(new Error('no disk')) },
    })
    network.set(false)
    const sending = thrownBy(client.post('a'))
    await expect.poll(async () => (await memory.list()).length).toBe(1)
    network.set(true)
    expect(await sending).toMatchObject({ reason: 'journal', sent: false })
    expect(await memory.list()).toMatchObject([{ state: 'queued' }])
  })

  it('behind others of its resource is not in the journal either', async () => {
    const memory = memoryJournal()
    let isBroken = false
    const list = () => (isBroken ? Promise.reject(new Error('no disk')) : memory.list())
    const { client, arrived, clock, events } = world(['hang', done], {
      ...{ journal: { ...memory, list }, attemptsMax: 1 },
    })
    const first = thrownBy(client.post('a', { resource: 'cart', deadlineMs: 500 }))
    await arrived(1)
    const second = thrownBy(client.post('b', { resource: 'cart' }))
    await expect.poll(() => events.map(({ type }) => type)).toContain('queued')
    isBroken = true
    clock.advance(500)
    await first
    expect(await second).toBeInstanceOf(JournalError)
    expect((await memory.list()).map(({ url }) => url.at(-1))).toEqual(['a'])
  })
})

describe('an operation that is held', () => {
  it('is refused where the journal can not take it', async () => {
    const memory = memoryJournal()
    let isFull = false
    const put: JournalStore['put'] = (entry) =>
      isFull ? Promise.reject(new Error('quota')) : memory.put(entry)
    const { client } = world(['cut'], { journal: { ...memory, put }, attemptsMax: 1 })
    await thrownBy(client.post('a', { resource: 'cart' }))
    isFull = true
    expect(await thrownBy(client.post('b', { resource: 'cart' }))).toBeInstanceOf(JournalError)
    expect((await memory.list()).map(({ url }) => url.at(-1))).toEqual(['a'])
  })
})

describe('a journal that hangs once', () => {
  it('when the client is made costs no operation', async () => {
    const memory = memoryJournal()
    let calls = 0
    const list = () => (calls++ === 0 ? new Promise<never>(() => {}) : memory.list())
    const { client } = world([done], { journal: { ...memory, list } })
    expect((await client.post('a')).response.status).toBe(201)
  })

  it('when its entries are counted works for the next operation', async () => {
    const memory = memoryJournal()
    let calls = 0
    const list = () => (calls++ === 1 ? new Promise<never>(() => {}) : memory.list())
    const { client, clock } = world([done], { journal: { ...memory, list } })
    const first = thrownBy(client.post('a', { deadlineMs: 1000 }))
    for (let second = 0; second < 3; second++) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(1000)
    }
    expect(await first).toBeInstanceOf(Error)
    const sending = client.post('b', { deadlineMs: 1000 }).catch((error: unknown) => error)
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(1000)
    expect(await sending).toMatchObject({ response: { status: 201 } })
  })
})

describe('an operation that was answered', () => {
  it('is not sent again because the journal could not be written: it is removed instead', async () => {
    const memory = memoryJournal()
    const put: JournalStore['put'] = async (entry) => {
      if (entry.state === 'answered') throw new Error('quota')
      return memory.put(entry)
    }
    const { client, seen } = world([{ status: 200, body: 'log in' }], {
      journal: { ...memory, put },
    })
    await client.post('a')
    expect(await client.resume()).toEqual([])
    expect(seen).toHaveLength(1)
  })
})
