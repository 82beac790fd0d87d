import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/core/dialects/dialect.ts'
import { replayStatusOf } from '../../src/core/dialects/dialect.ts'
import { type DialectName, dialects, extendDialect } from '../../src/core/dialects/index.ts'
import { type FreshAnswer, freshMarks, replayMarks } from '../../src/core/dialects/marks.ts'
import { refusals, refuse } from '../../src/core/dialects/refuse.ts'
import { type ClientErrorCode, ERRORS } from '../../src/core/error-table.ts'
import type { Occurrence } from '../../src/core/problem.ts'
import type { Header } from '../../src/core/response.ts'

const { ietf, stripe, tasks, rides, workflows, charges, agents } = dialects
// Object.keys forgets the codes that the type of the table has.
const CODES = Object.keys(ERRORS).filter((code) =>
  code.startsWith('idempotency-'),
) as ClientErrorCode[]

const KEY = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'
const REQUEST = { key: KEY, requestId: 'req_2' }

interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

function seen(dialect: Dialect, occurrence: Occurrence): Seen {
  const { status, headers, body } = refuse(dialect, occurrence)
  return {
    status,
    headers: Object.fromEntries(headers),
    body: JSON.parse(new TextDecoder().decode(body)),
  }
}

function mismatch(dialect: Dialect): Seen {
  return seen(dialect, { ...refusals.mismatch, key: KEY })
}

function inProgress(dialect: Dialect): Seen {
  return seen(dialect, { ...refusals.in_progress, key: KEY, retryAfterSeconds: 2 })
}

function tooLong(dialect: Dialect): Seen {
  const detail = 'The key is too long'
  return seen(dialect, { ...ERRORS['idempotency-key-invalid'], keyFault: 'too-long', detail })
}

function fresh(dialect: Dialect, answer: Partial<FreshAnswer> = {}): Record<string, string> {
  const whole: FreshAnswer = {
    ...{ status: 201, fate: 'stored', expiresInMs: 86_400_000, bodyBytesOmitted: null },
    ...answer,
  }
  return Object.fromEntries(freshMarks(dialect, REQUEST, whole))
}

function replay(dialect: Dialect, answer = {}): Record<string, string> {
  const whole = {
    ...{ status: 201, originalRequestId: 'req_1', expiresInMs: 3_600_999, bodyBytesOmitted: null },
    ...answer,
  }
  return Object.fromEntries(replayMarks(dialect, REQUEST, whole))
}

describe('the contract of each dialect', () => {
  /** header, lengths, identity, status of a replayed 201, mismatch, in progress, key required */
  const contract: Readonly<Record<DialectName, readonly unknown[]>> = {
    ietf: ['Idempotency-Key', 1, 255, 'caller key method route', 201, 422, 409, false],
    stripe: ['Idempotency-Key', 1, 255, 'caller key', 201, 400, 409, false],
    tasks: ['Idempotency-Key', 1, 255, 'caller key method path', 200, 409, 409, false],
    rides: ['Idempotency-Key', 20, 100, 'caller key', 201, 409, 409, true],
    workflows: ['Idempotency-Key', 1, 255, 'caller key method route', 201, 422, 409, false],
    charges: ['Idempotency-Key', 1, 255, 'caller key', 201, 409, 409, true],
    agents: ['X-Idempotency-Key', 1, 255, 'caller key', 201, 422, 409, false],
  }

  it('covers every dialect, under its own name', () => {
    expect(Object.keys(dialects)).toEqual(Object.keys(contract))
    expect(Object.values(dialects).map(({ name }) => name)).toEqual(Object.keys(contract))
  })

  for (const [name, expected] of Object.entries(contract)) {
    it(`${name} is as agreed`, () => {
      // Object.entries forgets the names that the type of the table has.
      const dialect = dialects[name as DialectName]
      const { header, key, identity, keyRequired } = dialect

      expect([
        header,
        key.lengthMin,
        key.lengthMax,
        identity.join(' '),
        replayStatusOf(dialect, 201),
        mismatch(dialect).status,
        inProgress(dialect).status,
        keyRequired,
      ]).toEqual(expected)
      expect(key.mode).toBe('lenient')
      expect(seen(dialect, { ...ERRORS['idempotency-key-missing'] }).status).toBe(400)
      expect(tooLong(dialect).status).toBe(400)
    })
  }

  it('honours keys on the methods that each API has', () => {
    expect(Object.values(dialects).map(({ methods }) => methods.join(' '))).toEqual([
      'POST PATCH',
      'POST',
      'POST PATCH DELETE',
      'POST PATCH',
      'POST PATCH',
      'POST PATCH',
      'POST PUT PATCH',
    ])
  })
})

describe('refusals of every dialect', () => {
  for (const dialect of Object.values(dialects)) {
    it(`${dialect.name} writes JSON, links to the page where there is one, and says when to come back`, () => {
      for (const code of CODES) {
        const { status, headers, body } = seen(dialect, { ...ERRORS[code], key: KEY })

        expect(headers['Content-Type']).toMatch(/^application\/(problem\+)?json$/)
        expect(headers.Link).toBeUndefined()
        expect(JSON.stringify(body)).not.toContain('doc_url')
        const published = seen(dialect, { ...ERRORS[code], docsUrl: 'https://api.example/errors/' })
        expect(published.headers.Link).toContain(
          `<https://api.example/errors/${code}>; rel="describedby"`,
        )
        expect(headers['Retry-After']).toBe(ERRORS[code].retryable ? '1' : undefined)
        expect(headers[dialect.header]).toBe(KEY)
        expect(headers['Idempotency-Stored']).toBe('false')
        expect(status).toBe(dialect.errors.statuses[code] ?? ERRORS[code].status)
        expect(Object.keys(body)).not.toEqual([])
      }
    })

    it(`${dialect.name} has a code or text of its own for each refusal`, () => {
      const texts = CODES.map((code) => JSON.stringify(seen(dialect, { ...ERRORS[code] }).body))

      expect(new Set(texts).size).toBe(CODES.length)
    })

    it(`${dialect.name} echoes no key where there is no usable one`, () => {
      expect(tooLong(dialect).headers).not.toHaveProperty(dialect.header)
    })
  }

  it('map the decisions of the protocol', () => {
    expect(refusals).toEqual({
      mismatch: ERRORS['idempotency-key-reused'],
      in_progress: ERRORS['idempotency-in-progress'],
      unknown: ERRORS['idempotency-outcome-unknown'],
    })
  })
})

describe('ietf', () => {
  it('refuses with problem documents', () => {
    const { headers, body } = mismatch(ietf)

    expect(headers['Content-Type']).toBe('application/problem+json')
    expect(body).toMatchObject({ status: 422, code: 'idempotency-key-reused', retryable: false })
    expect(JSON.stringify(body)).not.toContain(KEY)
  })

  it('says which refusals the same key gets over', () => {
    expect(inProgress(ietf).headers).toMatchObject({
      'Retry-After': '2',
      'Idempotent-Retry': 'same-key',
    })
    expect(mismatch(ietf).headers).not.toHaveProperty('Idempotent-Retry')
  })

  it('has one code for keys of the wrong length, and says so in the detail', () => {
    const { body } = tooLong(ietf)

    expect(body.code).toBe('idempotency-key-invalid')
    expect(body.detail).toMatch(/^The key is too long\. /)
  })
})

describe('stripe', () => {
  it('has the types and codes that its clients know', () => {
    expect(mismatch(stripe).body).toMatchObject({ error: { type: 'idempotency_error' } })
    expect(inProgress(stripe).body).toMatchObject({
      error: { type: 'idempotency_error', code: 'idempotency_key_in_use' },
    })
    expect(tooLong(stripe).body).toMatchObject({ error: { type: 'invalid_request_error' } })
    expect(seen(stripe, { ...ERRORS['idempotency-store-unavailable'] }).body).toMatchObject({
      error: { type: 'api_error' },
    })
  })

  it('says whether to retry', () => {
    expect(inProgress(stripe).headers['Stripe-Should-Retry']).toBe('true')
    expect(mismatch(stripe).headers['Stripe-Should-Retry']).toBe('false')
    expect(fresh(stripe, { status: 402 })['Stripe-Should-Retry']).toBe('false')
    expect(replay(stripe, { status: 500 })['Stripe-Should-Retry']).toBe('false')
    expect(fresh(stripe, { status: 503, fate: 'forgotten' })['Stripe-Should-Retry']).toBe('true')
    expect(fresh(stripe)).not.toHaveProperty('Stripe-Should-Retry')
    expect(fresh(stripe, { status: 500, fate: 'suspended' })).not.toHaveProperty(
      'Stripe-Should-Retry',
    )
  })

  it('names the original request on the first answer too', () => {
    expect(fresh(stripe)).toEqual({ 'Idempotency-Key': KEY, 'Original-Request': 'req_2' })
    expect(replay(stripe)).toEqual({
      'Idempotency-Key': KEY,
      'Idempotent-Replayed': 'true',
      'Original-Request': 'req_1',
    })
  })
})

describe('tasks', () => {
  it('refuses a mismatch with a conflict that names the key', () => {
    const { error } = mismatch(tasks).body

    expect(error).toEqual({
      type: 'invalid_request_error',
      message: expect.stringContaining(`'${KEY}'`),
      code: 'idempotency_conflict',
      param: 'idempotency_key',
    })
  })

  it('has a code for keys that are too long', () => {
    expect(tooLong(tasks).body).toMatchObject({
      error: { code: 'idempotency_key_too_long', param: 'idempotency_key' },
    })
  })

  it('cuts and cleans what it names', () => {
    const key = `a\u0000\u202e<b>"${'x'.repeat(400)}`
    const { body } = seen(tasks, { ...ERRORS['idempotency-key-reused'], key })

    expect(JSON.stringify(body)).toContain(`'a??<b>\\"${'x'.repeat(248)}'`)
  })

  it('gives a mismatch and a lost transaction different codes', () => {
    const { body, status } = seen(tasks, { ...ERRORS['idempotency-conflict'] })

    expect(status).toBe(503)
    expect(body).toMatchObject({ error: { type: 'api_error', code: 'transaction_conflict' } })
  })

  it('replays a creation with 200 and everything else as it was', () => {
    const statuses = [200, 201, 202, 204, 303, 402, 404, 500]

    expect(statuses.map((status) => replayStatusOf(tasks, status))).toEqual([
      200, 200, 202, 204, 303, 402, 404, 500,
    ])
    expect(statuses.map((status) => replayStatusOf(ietf, status))).toEqual(statuses)
  })
})

describe('the other APIs', () => {
  it('rides has one text', () => {
    expect(mismatch(rides).body).toEqual({ error: expect.stringMatching(/^Idempotency key is/) })
    expect(inProgress(rides).body).toEqual({ error: expect.stringMatching(/in progress\. /) })
  })

  it('workflows has a detail and a code', () => {
    const detail = expect.any(String)

    expect(mismatch(workflows).body).toEqual({ detail, code: 'idempotency_key_reused' })
    expect(inProgress(workflows).body).toEqual({ detail, code: 'idempotency_key_in_progress' })
    expect(tooLong(workflows).body).toEqual({ detail, code: 'idempotency_key_too_long' })
    const missing = seen(workflows, { ...ERRORS['idempotency-key-missing'] }).body
    expect(missing).toEqual({ detail, code: 'idempotency_key_missing' })
  })

  it('charges has one type of error, and Retry-After only where waiting helps', () => {
    const error = { type: 'idempotency_error', message: expect.any(String) }

    expect(mismatch(charges).body).toEqual({ error })
    expect(inProgress(charges).body).toEqual({ error })
    expect(mismatch(charges).headers).not.toHaveProperty('Retry-After')
    expect(inProgress(charges).headers['Retry-After']).toBe('2')
  })

  it('agents hear that their request is being processed', () => {
    expect(inProgress(agents).body).toMatchObject({ detail: 'Request is being processed' })
    expect(mismatch(agents).body).toMatchObject({ code: 'idempotency_key_reused' })
    expect(mismatch(agents).headers['X-Idempotency-Key']).toBe(KEY)
  })

  it('have codes for keys that are too short', () => {
    const occurrence: Occurrence = { ...ERRORS['idempotency-key-invalid'], keyFault: 'too-short' }

    expect(seen(workflows, occurrence).body).toMatchObject({ code: 'idempotency_key_too_short' })
  })
})

describe('marks', () => {
  it('of a stored answer echo the key and say how long it is kept', () => {
    expect(fresh(ietf)).toEqual({ 'Idempotency-Key': KEY, 'Idempotency-Expires': '86400' })
  })

  it('of a replay say that it is one, of which request, and for how long still', () => {
    expect(replay(ietf)).toEqual({
      'Idempotency-Key': KEY,
      'Idempotent-Replayed': 'true',
      'Original-Request-Id': 'req_1',
      'Idempotency-Expires': '3600',
    })
  })

  it('of a replay without its body say how much is missing', () => {
    expect(replay(ietf, { bodyBytesOmitted: 5 })['Idempotency-Body-Omitted']).toBe('5')
  })

  it('never promise negative time', () => {
    expect(replay(ietf, { expiresInMs: -1 })['Idempotency-Expires']).toBe('0')
  })

  it('of an answer that is not kept say so and make no promise', () => {
    const unkept = { 'Idempotency-Key': KEY, 'Idempotency-Stored': 'false' }

    expect(fresh(ietf, { fate: 'forgotten', status: 400 })).toEqual(unkept)
    expect(fresh(ietf, { fate: 'suspended', status: 500 })).toEqual(unkept)
    expect(fresh(ietf, { fate: 'not_stored' })).toEqual(unkept)
    expect(fresh(ietf, { fate: 'unprotected' })).toEqual({
      ...unkept,
      'Idempotency-Degraded': 'true',
    })
  })

  it.each([5, 'unknown'] as const)('of an answer kept without its body say so: %s', (bytes) => {
    expect(fresh(ietf, { bodyBytesOmitted: bytes })).toEqual({
      'Idempotency-Key': KEY,
      'Idempotency-Stored': 'false',
      'Idempotency-Expires': '86400',
    })
    expect(replay(ietf, { bodyBytesOmitted: bytes })).not.toHaveProperty('Idempotency-Stored')
  })

  it('of a failure without effect invite to retry with the same key', () => {
    expect(fresh(ietf, { fate: 'forgotten', status: 503 })['Idempotent-Retry']).toBe('same-key')
  })

  it('write keys bare where they can be, and quoted where they have to be', () => {
    const strict = extendDialect(ietf, { key: { mode: 'strict' } })
    const echo = (dialect: Dialect, key: string): Header | undefined =>
      refuse(dialect, { ...ERRORS['idempotency-in-progress'], key }).headers.find(
        ([name]) => name === 'Idempotency-Key',
      )

    const bare = "!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~"
    expect(echo(ietf, bare)).toEqual(['Idempotency-Key', bare])
    expect(echo(strict, 'k')).toEqual(['Idempotency-Key', '"k"'])
    for (const key of ['a b', 'a,b', 'a;b']) {
      expect(echo(ietf, key)).toEqual(['Idempotency-Key', `"${key}"`])
    }
    expect(echo(ietf, 'a"b\\c')).toEqual(['Idempotency-Key', '"a\\"b\\\\c"'])
  })

  it('leave out what no header can carry', () => {
    expect(replay(ietf, { originalRequestId: 'a\r\nSet-Cookie: b' })).not.toHaveProperty(
      'Original-Request-Id',
    )
    expect(replay(ietf, { originalRequestId: null })).not.toHaveProperty('Original-Request-Id')
    expect(replay(ietf, { originalRequestId: '☃' })).not.toHaveProperty('Original-Request-Id')
  })
})

describe('extendDialect', () => {
  it('changes what it is told and leaves the rest and the base alone', () => {
    const before = structuredClone({ ...charges, errors: charges.errors.statuses })
    const own = extendDialect(charges, {
      name: 'own',
      header: 'X-Once',
      key: { lengthMin: 8 },
      marks: { replayed: 'X-Again', retry: null },
      errors: { statuses: { 'idempotency-in-progress': 425 } },
    })

    expect(own).toMatchObject({ name: 'own', header: 'X-Once', keyRequired: true })
    expect(own.key).toEqual({ mode: 'lenient', lengthMin: 8, lengthMax: 255 })
    expect(mismatch(own).status).toBe(409)
    expect(inProgress(own).status).toBe(425)
    expect(mismatch(own).body).toEqual(mismatch(charges).body)
    expect(replay(own)).toMatchObject({ 'X-Once': KEY, 'X-Again': 'true' })
    expect({ ...charges, errors: charges.errors.statuses }).toEqual(before)
  })

  it('takes a body of the user', () => {
    const own = extendDialect(ietf, { errors: { body: ({ code }) => [code] } })

    expect(mismatch(own).body).toEqual(['idempotency-key-reused'])
  })

  it('refuses what can not be right, and names it', () => {
    const withoutCaller = { identity: ['key', 'path'] }

    expect(() => extendDialect(ietf, { header: 'Idempotency Key' })).toThrow(/"Idempotency Key"/)
    expect(() => extendDialect(ietf, { marks: { replayed: '' } })).toThrow(/"" is not a header/)
    expect(() => extendDialect(ietf, { key: { lengthMin: 9, lengthMax: 8 } })).toThrow(/lengthMin/)
    expect(() =>
      extendDialect(ietf, { errors: { statuses: { 'idempotency-key-reused': 200 } } }),
    ).toThrow(/200 is not/)
    // What a user without types could write.
    expect(() => extendDialect(ietf, withoutCaller as unknown as Partial<Dialect>)).toThrow(
      /identity needs caller/,
    )
  })
})
