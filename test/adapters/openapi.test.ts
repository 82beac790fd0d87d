import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../src/adapters/json-schema.ts'
import {
  describeOperation,
  mergeOpenApi,
  type OpenApiFragment,
  openApiFragment,
} from '../../src/adapters/openapi.ts'
import type { HttpOptions } from '../../src/adapters/options.ts'
import { policyMarkdown, publishedPolicy } from '../../src/adapters/published-policy.ts'
import { type Dialect, dialects, extendDialect, ietf } from '../../src/core/dialects/index.ts'
import { freshMarks, replayMarks } from '../../src/core/dialects/marks.ts'
import { refuse } from '../../src/core/dialects/refuse.ts'
import { ERRORS } from '../../src/core/error-table.ts'
import { parseKey } from '../../src/core/key.ts'
import { responsePolicies } from '../../src/core/policy.ts'
import type { Problem } from '../../src/core/problem.ts'
import { keyAge } from '../../src/engine/key-age.ts'
import type { Servable } from '../../src/engine/servable.ts'
import { createReprise, memoryStore } from '../../src/index.ts'

const caller = () => 'alice'
const KEY = '0199c8a4-63d1-7e0b-9f5e-2b8d41c7a630'

/** A route on which every refusal is possible, but for those that exclude each other. */
const everything = {
  caller,
  transaction: true,
  keyAge: keyAge({ ageMsMax: 3_600_000 }),
  authorizeReplay: () => true,
  sensitive: true,
  fingerprint: { bodyBytesMax: 1000 },
}

describe.each(Object.values(dialects))('in the dialect $name', (dialect) => {
  const options = { ...everything, dialect }
  const fragment = openApiFragment(options)

  test('every refusal has the status, headers and shape that the fragment says', () => {
    const { errors } = publishedPolicy(options)
    const [schema] = Object.values(fragment.components.schemas)

    expect(errors.length).toBeGreaterThan(11)
    for (const { code } of errors) {
      for (const key of [undefined, KEY]) {
        const { status, headers, body } = refuse(
          dialect,
          key ? { ...ERRORS[code], key } : ERRORS[code],
        )
        const response = fragment.responses[String(status)]
        const names = headers.map(([name]) => name).filter((name) => name !== 'Content-Type')

        expect(Object.keys(response?.headers ?? {}), code).toEqual(expect.arrayContaining(names))
        const { contentType } = dialect.errors
        expect(Object.keys(response?.content ?? {})).toEqual([contentType])
        expect(Object.keys(response?.content?.[contentType]?.examples ?? {})).toContain(code)
        expect(faultsIn(JSON.parse(Buffer.from(body).toString()), schema)).toEqual([])
      }
    }
  })

  test('every mark on an answer is among the headers', () => {
    const request = { key: KEY, requestId: 'r1' }
    const omitted = { originalRequestId: 'r0', expiresInMs: 1000, bodyBytesOmitted: 5 }
    const fresh = { status: 402, expiresInMs: 1000, bodyBytesOmitted: null }
    const marks = [
      ...freshMarks(dialect, request, { ...fresh, fate: 'stored' }),
      ...freshMarks(dialect, request, { ...fresh, fate: 'not_stored' }),
      ...freshMarks(dialect, request, { ...fresh, fate: 'unprotected' }),
      ...replayMarks(dialect, request, { status: 402, ...omitted }),
    ]

    const named = new Set(marks.map(([name]) => name))
    expect(Object.keys(fragment.headers)).toEqual(expect.arrayContaining([...named]))
    for (const [name, value] of marks) expect(value).toSatisfy(fits(fragment.headers[name]?.schema))
  })

  test('the components depend on the dialect alone, and every reference resolves', () => {
    const other = openApiFragment({ caller, dialect, required: true, docsUrl: 'https://e.example' })

    expect(other.components).toEqual(fragment.components)
    for (const reference of referencesIn(fragment)) {
      const name = reference.replace('#/components/schemas/', '')
      expect(Object.keys(fragment.components.schemas)).toContain(name)
    }
  })
})

describe('the parameter', () => {
  const vectors: readonly { readonly lines: readonly string[] }[] = JSON.parse(
    readFileSync(join(import.meta.dirname, '../vectors/key-header.json'), 'utf8'),
  )

  test.each(['lenient', 'strict'] as const)('takes every key that %s parsing takes', (mode) => {
    const pattern = headerPattern(extendDialect(ietf, { key: { mode } }))
    const lines = vectors.map((vector) => vector.lines).filter((each) => each.length === 1)
    const taken = lines.filter((each) => parseKey(each, { mode }).kind === 'key').flat()

    expect(taken.length).toBeGreaterThan(5)
    for (const line of taken) expect(line.trim()).toMatch(pattern)
  })

  test.each([
    ['bare', (key: string) => key],
    ['quoted', (key: string) => `"${key}"`],
  ])('has the lengths of the dialect for %s keys', (_, write) => {
    const pattern = headerPattern(dialects.rides)

    for (const length of [20, 100]) expect(write('k'.repeat(length))).toMatch(pattern)
    for (const length of [19, 101]) expect(write('k'.repeat(length))).not.toMatch(pattern)
  })

  test('counts an escape as one character', () => {
    const pattern = headerPattern(dialects.rides)
    expect(`"${'\\"'.repeat(100)}"`).toMatch(pattern)
    expect(`"${'\\"'.repeat(101)}"`).not.toMatch(pattern)
  })

  test('is required where the route or the dialect says so', () => {
    const requiredBy = (options: Partial<HttpOptions<unknown>>) =>
      openApiFragment({ caller, ...options }).parameters.map(({ required }) => required)

    expect(requiredBy({})).toEqual([false])
    expect(requiredBy({ required: true })).toEqual([true])
    expect(requiredBy({ dialect: dialects.charges })).toEqual([true])
    expect(requiredBy({ dialect: dialects.charges, required: false })).toEqual([false])
  })

  test('follows the key to the query, and is none where the key is in the body or found by code', () => {
    const inQuery = openApiFragment({ caller, key: { query: 'token' } }).parameters
    const inHeader = openApiFragment({ caller, key: { header: 'X-Key' } }).parameters

    expect(inQuery).toMatchObject([{ name: 'token', in: 'query', schema: { maxLength: 255 } }])
    expect(inHeader).toMatchObject([{ name: 'X-Key', in: 'header' }])
    expect(openApiFragment({ caller, key: { field: 'id' } }).parameters).toEqual([])
    expect(openApiFragment({ caller, key: () => 'k' }).parameters).toEqual([])
  })

  test('gives no example that the route would refuse', () => {
    const dialect = extendDialect(ietf, { key: { format: /^order-/ } })
    expect(openApiFragment({ caller, dialect }).parameters[0]).not.toHaveProperty('example')
    expect(openApiFragment({ caller }).parameters[0]).toHaveProperty('example', KEY)
  })
})

test('a member that only some error bodies have is not required', () => {
  const body = ({ code, retryable }: Problem) =>
    retryable ? { code, again: [1] } : { code, again: null }
  const dialect = extendDialect(ietf, { errors: { body: (problem) => body(problem) } })
  const other = extendDialect(ietf, {
    errors: { body: (problem) => (problem.retryable ? { ...body(problem), hint: 'x' } : {}) },
  })

  const [schema] = Object.values(openApiFragment({ caller, dialect }).components.schemas)
  const [loose] = Object.values(openApiFragment({ caller, dialect: other }).components.schemas)
  expect(schema).toEqual({
    type: 'object',
    required: ['code', 'again'],
    properties: {
      code: { type: 'string' },
      again: { type: ['array', 'null'], items: { type: 'integer' } },
    },
  })
  expect(loose).toMatchObject({ required: [], properties: { hint: { type: 'string' } } })
})

describe('describeOperation', () => {
  const fragment = openApiFragment({ caller })
  const json = { schema: { $ref: '#/components/schemas/Charge' } }

  test('adds the key, the refusals and the headers of replays, and keeps the rest', () => {
    const operation = {
      operationId: 'createCharge',
      parameters: [{ name: 'expand', in: 'query' }],
      responses: { 201: { description: 'Made', content: { 'application/json': json } } },
    }
    const described = describeOperation(operation, fragment)

    expect(described.operationId).toBe('createCharge')
    expect(described.parameters.map(({ name }) => name)).toEqual(['expand', 'Idempotency-Key'])
    const statuses = ['201', '400', '409', '413', '422', '425', '503']
    expect(Object.keys(described.responses)).toEqual(statuses)
    expect(described.responses[201]).toMatchObject({
      content: { 'application/json': json },
      headers: { 'Idempotent-Replayed': {} },
    })
  })

  test('joins a refusal with the response that the operation has under the same status', () => {
    const own = {
      description: 'Not valid',
      content: { 'application/problem+json': { ...json, examples: { own: {} } } },
    }
    const { responses } = describeOperation({ responses: { 422: own } }, fragment)

    const refusal = fragment.responses['422']?.content?.['application/problem+json']
    expect(responses[422]).toMatchObject({
      description: expect.stringMatching(/^Not valid · Idempotency key is already used/),
      content: {
        'application/problem+json': {
          schema: { anyOf: [json.schema, refusal?.schema] },
          examples: { own: {}, 'idempotency-key-reused': {} },
        },
      },
    })
  })

  test('leaves a response alone that is a reference', () => {
    const reference = { $ref: '#/components/responses/Invalid' }
    const { responses } = describeOperation({ responses: { 422: reference } }, fragment)
    expect(responses[422]).toEqual(reference)
  })
})

describe('the published policy', () => {
  test('says what the defaults are', () => {
    expect(publishedPolicy({ caller })).toMatchObject({
      dialect: 'ietf',
      methods: ['POST', 'PATCH'],
      key: { required: false, lengthMin: 1, lengthMax: 255, quoted: false, format: null },
      scope: ['caller', 'method', 'route'],
      retentionSeconds: 86_400,
      afterCrash: 'refuse',
      replay: { created: 201, markedBy: 'Idempotent-Replayed', cookies: false },
      waitSeconds: 0,
    })
  })

  test('takes the options of the route before those of the engine', () => {
    const engine = { retentionMs: 3_600_000, waitMs: 2000 }

    expect(publishedPolicy({ caller }, engine)).toMatchObject({
      retentionSeconds: 3600,
      waitSeconds: 2,
    })
    expect(publishedPolicy({ caller, waitMs: 500 }, engine).waitSeconds).toBe(0.5)
    const byCaller = publishedPolicy({ caller, retentionMs: () => 60_000 }, engine)
    expect(byCaller.retentionSeconds).toBe('by caller')
  })

  test('sorts statuses as the response policy does', () => {
    const fates = (options: Partial<HttpOptions<unknown>>) =>
      publishedPolicy({ caller, ...options }).answers

    expect(fates({})).toMatchObject([
      { effect: 'unknown', stored: ['2xx', '3xx', '4xx'], suspended: ['408', '5xx'] },
      { effect: 'begun', stored: ['2xx', '3xx', '4xx'], forgotten: [], suspended: ['408', '5xx'] },
    ])
    expect(fates({})[0]?.forgotten).toEqual(expect.arrayContaining(['400', '401', '429']))
    expect(fates({})[0]?.forgotten).not.toContain('402')
    expect(fates({ marksEffect: true })[0]).toMatchObject({ effect: 'none', suspended: [] })
    expect(fates({ policy: responsePolicies.stripe })[0]?.stored).toContain('5xx')
  })

  test('knows no suspended answer in transaction mode, where all else is rolled back', () => {
    const policy = () => 'suspend' as const
    const { answers } = publishedPolicy({ caller, transaction: true, policy })
    expect(answers).toEqual([
      {
        effect: 'none',
        stored: [],
        forgotten: ['2xx', '3xx', '4xx', '5xx'],
        suspended: [],
      },
    ])
  })

  test('names every error that clients see, on some route', () => {
    const serve: Servable = {
      name: 'create_ride',
      // The policy looks at whether there is an operation, and at nothing of it.
      reprise: createReprise({ store: memoryStore() }) as unknown as Servable['reprise'],
      isSensitive: false,
      read: () => undefined,
      serve: () => Promise.reject(new Error('Not asked.')),
    }
    const routes = [
      publishedPolicy(everything),
      publishedPolicy({ caller, required: true, quota: { keys: 10, perMs: 1000 } }),
      publishedPolicy({ caller, serve }),
    ]
    const named = new Set(routes.flatMap(({ errors }) => errors.map(({ code }) => code)))
    const all = Object.keys(ERRORS).filter((code) => code.startsWith('idempotency-'))

    expect([...named].sort()).toEqual(all.sort())
  })

  test('names no error that the route can not give', () => {
    const codes = (options: Partial<HttpOptions<unknown>>) =>
      publishedPolicy({ caller, ...options }).errors.map(({ code }) => code)

    expect(codes({})).not.toContain('idempotency-key-missing')
    expect(codes({ required: true })).not.toContain('idempotency-too-early')
    expect(codes({ afterCrash: 'rerun' })).not.toContain('idempotency-outcome-unknown')
    expect(codes({})).not.toContain('idempotency-conflict')
    expect(codes({})).not.toContain('idempotency-replay-forbidden')
    expect(codes({})).not.toContain('idempotency-result-gone')
    expect(codes({})).not.toContain('idempotency-retry-later')
  })

  test('is JSON', () => {
    const options = { ...everything, dialect: extendDialect(ietf, { key: { format: /^o-/ } }) }
    const policy = publishedPolicy(options)
    expect(JSON.parse(JSON.stringify(policy))).toEqual(policy)
    expect(policy.key.format).toEqual({ pattern: '^o-' })
  })

  test('refuses options that the route would refuse', () => {
    expect(() => publishedPolicy({ caller, methods: ['GET'] })).toThrow(/GET, which is never/)
    expect(() => publishedPolicy({ caller, leaseMs: 1 })).toThrow(/leaseMs/)
  })
})

describe('the policy as Markdown', () => {
  const options = {
    ...{ caller, dialect: dialects.rides, keyAge: keyAge({ ageMsMax: 5_400_000 }), waitMs: 1000 },
    fingerprint: { exclude: ['nonce'] },
  }
  const text = policyMarkdown(publishedPolicy(options), 'Rides')

  test.each([
    ['the title', '# Rides'],
    ['the header', 'A key is required, in the header `Idempotency-Key`, or in the field'],
    ['the length', '20 to 100 characters'],
    ['the scope', 'counts for one caller'],
    ['the age', 'at most 90 minutes old'],
    ['what does not count', 'What `nonce` says does not count.'],
    ['the retention', 'kept for 1 day;'],
    ['the replay marker', '`Idempotent-Replayed: true`'],
    ['the wait', 'waits up to 1 second;'],
    ['a stored status', '| 2xx, 3xx, 4xx | kept and given again |'],
    ['the crash', 'its repetition gets a definite error'],
    ['an error', '| 409 | `idempotency-key-reused` |'],
  ])('says %s', (_, part) => {
    expect(text).toContain(part)
  })

  test('has tables whose rows all have the columns of their head', () => {
    const tables = text.split('\n\n').filter((block) => block.includes('|---|'))
    expect(tables).toHaveLength(3)
    for (const table of tables) {
      const rows = table.slice(table.indexOf('|')).trim().split('\n')
      expect(new Set(rows.map((row) => row.split('|').length)).size).toBe(1)
    }
  })
})

function headerPattern(dialect: Dialect): RegExp {
  const [parameter] = openApiFragment({ caller, dialect }).parameters
  // The way JSON Schema reads patterns.
  return new RegExp(parameter?.schema.pattern ?? '', 'u')
}

function referencesIn(value: OpenApiFragment): readonly string[] {
  return [...JSON.stringify(value).matchAll(/"\$ref":"([^"]+)"/g)].map(([, path = '']) => path)
}

/** Whether a header's value fits a schema. */
function fits(schema: JsonSchema | undefined): (value: string) => boolean {
  return (value) => {
    if (schema === undefined) return false
    if (schema.type === 'integer') return /^\d+$/.test(value)
    const isListed = schema.enum?.includes(value) ?? true
    return isListed && new RegExp(schema.pattern ?? '', 'u').test(value)
  }
}

/** Where a value departs from a schema, as far as we write schemas. */
function faultsIn(value: unknown, schema: JsonSchema | undefined, at = '$'): readonly string[] {
  if (schema === undefined) return [`${at} is not described`]
  const type = value === null ? 'null' : Number.isInteger(value) ? 'integer' : typeof value
  if (![schema.type].flat().includes(type)) return [`${at} is ${type}`]
  if (typeof value !== 'object' || value === null) return []
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name))
  const members = Object.entries(value).flatMap(([name, member]) =>
    faultsIn(member, schema.properties?.[name], `${at}.${name}`),
  )
  return [...missing.map((name) => `${at}.${name} is missing`), ...members]
}

describe('mergeOpenApi', () => {
  const fragment = () => openApiFragment({ caller: () => 'one' })
  const document = () => ({
    ...{ openapi: '3.1.0', tags: [{ name: 'charges' }] },
    paths: {
      '/charges': {
        get: { responses: { 200: { description: 'All' } } },
        post: { operationId: 'createCharge', responses: { 201: { description: 'Made' } } },
      },
      '/health': { get: { responses: {} } },
    },
    components: { schemas: { Charge: { type: 'object' } }, securitySchemes: { key: {} } },
  })

  test('keeps what the document has, and adds what the protection does', () => {
    const given = document()
    const merged = mergeOpenApi(given, { 'POST /charges': fragment() })

    expect(given).toEqual(document())
    expect(merged).toMatchObject({
      ...{ openapi: '3.1.0', tags: given.tags, components: given.components },
      paths: {
        '/charges': { get: given.paths['/charges'].get },
        '/health': given.paths['/health'],
      },
    })
    expect(Object.keys(merged.components.schemas)).toEqual(['Charge', 'IdempotencyError_ietf'])
    expect(merged.paths['/charges'].post).toEqual(
      describeOperation(given.paths['/charges'].post, fragment()),
    )
    // A second route shares the schema.
    const twice = { 'POST /charges': fragment(), 'GET /health': fragment() }
    expect(() => mergeOpenApi(given, twice)).not.toThrow()
  })

  test('names the nearest operation where there is none such', () => {
    expect(() => mergeOpenApi(document(), { 'POST /charge': fragment() })).toThrow(
      'did you mean `POST /charges`?',
    )
  })

  test('refuses to replace a schema of the document', () => {
    const own = { ...document(), components: { schemas: { IdempotencyError_ietf: {} } } }
    expect(() => mergeOpenApi(own, { 'POST /charges': fragment() })).toThrow('another schema')
  })
})
