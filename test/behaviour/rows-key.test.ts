import { describe, expect, it } from 'vitest'
import { extendDialect } from '../../src/core/dialects/extend-dialect.ts'
import { ietf } from '../../src/core/dialects/ietf.ts'
import { type Charges, serveCharges } from './api.ts'
import type { Line, RawRequest } from './raw-http.ts'

/** The request is refused for its key, with a type that names the code, and nothing has happened. */
async function expectKeyRefused(charges: Charges, request: RawRequest, code: string) {
  const refused = await charges.send(request)
  expect(refused.status).toBe(400)
  expect(refused.header('Content-Type')).toBe('application/problem+json')
  const type = `urn:reprise:error:${code}`
  expect(refused.json).toMatchObject({ type, code, status: 400, retryable: false })
  expect(refused.header('Link')).toBeUndefined()
  expect(refused.header('Idempotency-Key')).toBeUndefined()
  expect(charges.runs()).toBe(0)
  expect(await charges.records()).toEqual([])
}

const INVALID = 'idempotency-key-invalid'

describe('the key', () => {
  it('row 1: is demanded with 400 where the route requires one', async () => {
    const charges = await serveCharges({ required: true })
    await expectKeyRefused(charges, {}, 'idempotency-key-missing')
  })

  it('row 1: is demanded with a link to the page of the error where the app publishes one', async () => {
    const docsUrl = 'https://api.example/errors/'
    const refused = await (await serveCharges({ required: true, docsUrl })).send({})
    const type = `${docsUrl}idempotency-key-missing`
    expect(refused.json).toMatchObject({ type })
    expect(refused.header('Link')).toBe(`<${type}>; rel="describedby"; type="text/html"`)
  })

  it('row 2: is optional by default; without it each request runs and nothing is recorded', async () => {
    const charges = await serveCharges()
    expect((await charges.send({})).json).toEqual({ id: 'ch_1' })
    const second = await charges.send({})
    expect(second.json).toEqual({ id: 'ch_2' })
    expect(second.lines.filter(([name]) => /^idempoten/i.test(name))).toEqual([])
    expect(await charges.records()).toEqual([])
  })

  it.each(['', '   ', '""', '"  "'])(
    'row 3: that is present but empty is refused: %j',
    async (key) => {
      await expectKeyRefused(await serveCharges(), { key }, INVALID)
    },
  )

  it('row 3: that is empty counts as absent where the dialect says so', async () => {
    const dialect = extendDialect(ietf, { key: { emptyAsMissing: true } })
    const charges = await serveCharges({ dialect })
    expect((await charges.send({ key: '' })).status).toBe(201)
    expect(await charges.records()).toEqual([])
  })

  it('row 4: has up to 255 characters, counted without quotes and escapes', async () => {
    const charges = await serveCharges()
    await expectKeyRefused(charges, { key: 'k'.repeat(256) }, INVALID)
    await expectKeyRefused(charges, { key: `"${'\\"'.repeat(256)}"` }, INVALID)
    expect((await charges.send({ key: 'k'.repeat(255) })).status).toBe(201)
    expect((await charges.send({ key: `"${'\\"'.repeat(255)}"` })).status).toBe(201)
  })

  it('row 4: has the length that the dialect asks for', async () => {
    const dialect = extendDialect(ietf, { key: { lengthMin: 20, lengthMax: 64 } })
    const charges = await serveCharges({ dialect })
    await expectKeyRefused(charges, { key: 'k'.repeat(19) }, INVALID)
    await expectKeyRefused(charges, { key: 'k'.repeat(65) }, INVALID)
    expect((await charges.send({ key: 'k'.repeat(64) })).status).toBe(201)
  })

  it.each([
    '"open',
    'a b',
    'a"b',
    '"a\\x"',
    '"a"b',
    'a;b',
    'a\tb',
    '\u00fc',
    '"\u00e2\u0082\u00ac"',
  ])('row 5: that is malformed is refused, never ignored: %j', async (key) => {
    await expectKeyRefused(await serveCharges(), { key }, INVALID)
  })

  it('row 5: is the same bare and in quotes; strict mode takes quotes alone', async () => {
    const charges = await serveCharges()
    await charges.send({ key: '8e03978e-40d5-43e8-bc93-6894a57f9324' })
    const quoted = await charges.send({ key: '"8e03978e-40d5-43e8-bc93-6894a57f9324";a=1' })
    expect(quoted.header('Idempotent-Replayed')).toBe('true')

    const strict = await serveCharges({ dialect: extendDialect(ietf, { key: { mode: 'strict' } }) })
    await expectKeyRefused(strict, { key: 'bare' }, INVALID)
    expect((await strict.send({ key: '"quoted"' })).header('Idempotency-Key')).toBe('"quoted"')
  })

  const twice = (first: string, second: string): Line[] => [
    ['Idempotency-Key', first],
    ['idempotency-key', second],
  ]
  it.each<readonly Line[]>([
    ...[twice('a', 'b'), twice('a', 'a'), twice('"a', 'b"'), twice('', 'a')],
    ...([[['Idempotency-Key', 'a, b']], [['Idempotency-Key', '"a", "a"']]] satisfies Line[][]),
  ])('row 6: that comes twice is refused, also when it is the same: %j %j', async (...headers) => {
    await expectKeyRefused(await serveCharges(), { headers }, INVALID)
  })

  it.each(['GET', 'HEAD', 'OPTIONS'])(
    'row 7: on %s is ignored, valid or not: nothing is recorded, nothing echoed',
    async (method) => {
      const charges = await serveCharges({ required: true })
      for (const key of ['k', 'k', '']) {
        const answer = await charges.send({ method, key, body: '' })
        expect(answer.status).toBe(201)
        expect(answer.header('Idempotency-Key')).toBeUndefined()
      }
      expect(charges.runs()).toBe(3)
      expect(await charges.records()).toEqual([])
    },
  )

  it('row 8: counts for POST and PATCH by default, not for PUT and DELETE', async () => {
    const charges = await serveCharges()
    const replayed = async (method: string) => {
      await charges.send({ method, key: 'k' })
      return (await charges.send({ method, key: 'k' })).header('Idempotent-Replayed')
    }
    expect(await replayed('POST')).toBe('true')
    expect(await replayed('PATCH')).toBe('true')
    expect(await replayed('PUT')).toBeUndefined()
    expect(await replayed('DELETE')).toBeUndefined()
  })

  it('row 8: counts for PUT and DELETE where the route names them, and never for GET', async () => {
    const charges = await serveCharges({ methods: ['put', 'delete'] })
    for (const method of ['PUT', 'DELETE']) {
      await charges.send({ method, key: 'k' })
      expect((await charges.send({ method, key: 'k' })).header('Idempotent-Replayed')).toBe('true')
    }
    await expect(serveCharges({ methods: ['GET'] })).rejects.toThrow('GET')
  })

  it.each(['undefined', 'null', '"undefined"', 'NaN', '"[object Object]"', 'true', 'false'])(
    'row 42: that is the text of a missing value is refused: %s',
    async (key) => {
      await expectKeyRefused(await serveCharges(), { key }, INVALID)
    },
  )
})
