import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { SealedResponse } from '../../src/core/record.ts'
import type { CapturedResponse } from '../../src/core/response.ts'
import { aesGcm, type EncryptionKeys } from '../../src/engine/aes-gcm.ts'
import { open, openResponse, type SealOptions, seal, sealResponse } from '../../src/engine/seal.ts'
import { response } from './world.ts'

const [older, newer] = [randomBytes(32), randomBytes(32)]

function sealer(given: Partial<SealOptions> = {}) {
  const options: SealOptions = {
    ...{ compressBytesMin: 1024, bodyBytesMax: 1_000_000, headers: {} },
    ...{ encryption: undefined, ...given },
  }
  return {
    seal: (id: string, plain: CapturedResponse) => sealResponse(options, id, plain),
    open: (id: string, sealed: SealedResponse) => openResponse(options, id, sealed),
  }
}

const encrypting = (current: string, keys: Record<string, Uint8Array>) =>
  sealer({ encryption: aesGcm({ current, keys }) })

/** The most that is unpacked, in bytes. */
const MOST_UNPACKED = 128 * 1024 * 1024

/** One zero more than that, packed by brotli: to pack it here would take more memory than workerd allows. */
const BOMB =
  'z///fwAkAOKxQHLv//n//w+ABEAcFoDu/T////8BkACIwwLQvf/n//8/ABIAcVgAuvf//P//B0ACIA4LQPf+n////wBIAMRhAeje//P//x8ACYA4LADd+3/+//8DIAEQhwWge/8PAIAAAw=='

/** Spoils what was sealed for `id` with status 201: says what to open, and as what. */
type Spoil = (sealed: Uint8Array) => [id: string, status: number, sealed: Uint8Array]

const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 7) % 256)

describe('a sealed response', () => {
  it.each([0, 1, 1023, 1024, 100_000])('opens to the same %i bytes', async (length) => {
    const first = { status: 207, headers: [['X', 'é "'] as const], body: bytes(length) }
    for (const seals of [sealer(), encrypting('a', { a: older })]) {
      const opened = await seals.open('id', await seals.seal('id', first))

      expect(opened).toMatchObject({ status: 207, headers: first.headers, bodyBytesOmitted: null })
      expect(Buffer.compare(opened.body, first.body)).toBe(0)
    }
  })

  it.each<[NonNullable<CapturedResponse['delivery']>]>([
    [{ statusMessage: 'Quite Fine' }],
    [{ isChunked: true, bodyForm: 'stream' }],
    [{ hasLength: true }],
  ])('opens to the same delivery: %o', async (delivery) => {
    const headers = [['Content-Type', 'application/json; charset=utf-8'] as const]
    const first = { status: 201, headers, body: bytes(9), delivery }
    expect(await sealer().open('id', await sealer().seal('id', first))).toMatchObject({ delivery })
  })

  it.each(['7', 'null', '{"statusMessage":1}', '{"isChunked":false}', '{"bodyForm":"soup"}'])(
    'whose delivery is %s is refused',
    async (delivery) => {
      const head = Buffer.from(`[[],null,${delivery}]\n`)
      const sealed = Buffer.concat([Uint8Array.of(2, 0), head])
      const opening = sealer().open('id', { status: 200, sealed })
      await expect(opening).rejects.toMatchObject({ code: 'reprise-seal-broken' })
    },
  )

  it('is compressed from the threshold on, and only where that saves room', async () => {
    const plain = { ...response(), body: Buffer.alloc(5000, 'a') }
    const noise = { ...response(), body: randomBytes(5000) }

    expect((await sealer().seal('id', plain)).sealed.byteLength).toBeLessThan(200)
    expect((await sealer().seal('id', noise)).sealed.byteLength).toBeLessThan(5100)
    const never = sealer({ compressBytesMin: false })
    expect((await never.seal('id', plain)).sealed.byteLength).toBeGreaterThan(5000)
  })

  it('is not compressed where it would not be unpacked again', async () => {
    const large = sealer({ bodyBytesMax: Number.POSITIVE_INFINITY })
    const first = { ...response(), body: Buffer.alloc(MOST_UNPACKED) }
    const sealed = await large.seal('id', first)
    expect(sealed.sealed.byteLength).toBeGreaterThan(MOST_UNPACKED)
    const opened = await large.open('id', sealed)
    expect(Buffer.compare(opened.body, first.body)).toBe(0)
  })

  it('that unpacks to more than is ever packed is refused', async () => {
    const sealed = Buffer.concat([Uint8Array.of(2, 1), Buffer.from(BOMB, 'base64')])
    // Without what it unpacks to, which would take a minute to print.
    const opening = sealer().open('id', { status: 200, sealed })
    const end = await opening.then(
      () => 'opened',
      ({ code, detail }) => [code, detail],
    )
    expect(end).toEqual(['reprise-seal-broken', 'It does not unpack'])
  })

  it('leaves out a body over the limit and says how large it was', async () => {
    const small = sealer({ bodyBytesMax: 5 })

    const opened = await small.open('id', await small.seal('id', response()))

    expect(opened).toMatchObject({ status: 201, bodyBytesOmitted: 13 })
    expect(opened.body.byteLength).toBe(0)
  })

  it('shows nothing of an encrypted body, and differs each time', async () => {
    const seals = encrypting('a', { a: older })

    const [one, two] = await Promise.all([
      seals.seal('id', response(200, 'secret token')),
      seals.seal('id', response(200, 'secret token')),
    ])

    expect(Buffer.from(one.sealed).includes('secret')).toBe(false)
    expect(Buffer.compare(one.sealed, two.sealed)).not.toBe(0)
  })

  it('opens under an older key of the ring after a rotation', async () => {
    const sealed = await encrypting('a', { a: older }).seal('id', response())

    const opened = await encrypting('b', { a: older, b: newer }).open('id', sealed)

    expect(opened.status).toBe(201)
  })

  it('opens in clear after encryption was turned on', async () => {
    const sealed = await sealer().seal('id', response())

    expect((await encrypting('a', { a: older }).open('id', sealed)).status).toBe(201)
  })

  it('names the key that is missing', async () => {
    const sealed = await encrypting('a', { a: older }).seal('id', response())

    const opening = encrypting('b', { b: newer }).open('id', sealed)

    await expect(opening).rejects.toMatchObject({ code: 'reprise-seal-broken' })
    await expect(opening).rejects.toThrow('"a"')
  })

  it('says that a key is missing where none is given', async () => {
    const sealed = await encrypting('a', { a: older }).seal('id', response())

    await expect(sealer().open('id', sealed)).rejects.toMatchObject({ code: 'reprise-seal-broken' })
  })

  it.each<[string, Spoil]>([
    ['moved to another record', (sealed) => ['other', 201, sealed]],
    ['given another status', (sealed) => ['id', 200, sealed]],
    ['changed', (sealed) => ['id', 201, sealed.map((byte, at) => (at === 40 ? byte ^ 1 : byte))]],
    ['cut short', (sealed) => ['id', 201, sealed.subarray(0, sealed.length - 1)]],
  ])('does not open once it was %s', async (_, spoil) => {
    const seals = encrypting('a', { a: older })
    const { sealed } = await seals.seal('id', response())
    const [id, status, spoiled] = spoil(sealed)

    const opening = seals.open(id, { status, sealed: spoiled })

    await expect(opening).rejects.toMatchObject({ code: 'reprise-seal-broken' })
  })

  it('does not open once its flags were changed, which say whether it is compressed', async () => {
    const options = {
      compressBytesMin: 1,
      encryption: aesGcm({ current: 'a', keys: { a: older } }),
    }
    const place = { id: 'id', part: 'state' } as const
    const sealed = await seal(options, place, new Uint8Array(1000))
    expect(sealed[1]).toBe(3)
    const spoiled = Uint8Array.from(sealed).fill(2, 1, 2)

    await expect(open(options, place, spoiled)).rejects.toMatchObject({
      code: 'reprise-seal-broken',
    })
  })

  it.each<[string, CapturedResponse['headers']]>([
    ['in the spelling of Express', [['Content-Type', 'application/json; charset=utf-8']]],
    ['in the spelling of Fastify', [['content-type', 'application/json; charset=utf-8']]],
    ['without a charset', [['content-type', 'application/json']]],
  ])('has one byte for a usual head %s', async (_, headers) => {
    const sealed = await sealer().seal('id', { ...response(), headers })

    expect(sealed.sealed.byteLength).toBe(3 + response().body.byteLength)
    const opened = await sealer().open('id', sealed)
    expect(opened).toMatchObject({ headers, bodyBytesOmitted: null })
    expect(Buffer.compare(opened.body, response().body)).toBe(0)
  })

  it.each([
    ['has nothing in it', [2, 0]],
    ['has a head from the future', [2, 0, 30, 1]],
    ['has a number for a head', [2, 0, 53, 1]],
    ['ends before its head', [2, 0, 91, 91, 93]],
    ['has a broken head', [2, 0, 91, 10, 93]],
  ])('that %s is refused', async (_, bytes) => {
    const opening = sealer().open('id', { status: 200, sealed: Uint8Array.from(bytes) })

    await expect(opening).rejects.toMatchObject({ code: 'reprise-seal-broken' })
  })

  it('of a format from the future is refused', async () => {
    const opening = sealer().open('id', { status: 200, sealed: Uint8Array.of(9, 0) })

    await expect(opening).rejects.toMatchObject({ code: 'reprise-seal-broken' })
  })
})

describe('a ring of keys', () => {
  it.each<[string, EncryptionKeys]>([
    ['has not its current key', { current: 'a', keys: {} }],
    ['has not its current key but inherits it', { current: 'toString', keys: { a: older } }],
    ['has a key of 16 bytes', { current: 'a', keys: { a: new Uint8Array(16) } }],
    ['has a key without a name', { current: '', keys: { '': older } }],
  ])('is refused where it %s', (_, ring) => {
    expect(() => aesGcm(ring)).toThrow(expect.objectContaining({ code: 'reprise-options-invalid' }))
  })
})
