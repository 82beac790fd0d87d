import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serve } from '../../src/adapters/fetch.ts'
import { redactor } from '../../src/admin/redact.ts'
import { fingerprintRequest } from '../../src/core/fingerprint.ts'
import { canonicalJson } from '../../src/core/json.ts'
import { parseKey } from '../../src/core/key.ts'
import { exactJson } from '../../src/dashboard/reply.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { operation, phase, respond } from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { startService } from './service.ts'

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

describe('bombs', () => {
  // A regular expression that went back over them would need more steps than the universe has time.
  it.each([
    ['a key of parameters', `"k"${';a=1'.repeat(300)}x`],
    ['a key of open strings', `"k";a="${'\\"'.repeat(400)}`],
    ['a key of bytes that never end', `"k";a=:${'AAAA'.repeat(300)}`],
    ['a key of spaces', `"k"${' '.repeat(1000)}x`],
    ['a key of backslashes', `"${'\\\\'.repeat(500)}`],
  ])('%s is refused by one reading', (_, line) => {
    expect(parseKey([line]).kind).toBe('invalid')
  })

  it('a header of a megabyte is refused before it is looked at', () => {
    expect(parseKey(['"'.repeat(1_048_576)])).toMatchObject({ reason: 'too-long' })
  })

  it.each([
    ['arrays in arrays', nested(500_000)],
    ['objects in objects', '{"a":'.repeat(200_000)],
    ['numbers of a million digits', `[${'9'.repeat(1_000_000)}]`],
    ['a string of a million escapes', `"${'\\u0041'.repeat(170_000)}"`],
    [
      'a hundred thousand members',
      `{${Array.from({ length: 50_000 }, (_, at) => `"m${at}":1`).join()}}`,
    ],
    ['a hundred thousand times the same member', `{${'"m":1,'.repeat(100_000)}"m":1}`],
    ['an immense exponent', '1e999999999'],
  ])('a body of %s is refused or run once', async (_, body) => {
    const service = startService()
    const first = await service.send({ key: 'k', body })
    const again = await service.send({ key: 'k', body })
    expect([201, 400]).toContain(first.status)
    expect(again.status).toBe(first.status)
    expect(service.runs()).toBe(first.status === 201 ? 1 : 0)
  })

  it('forms of a hundred thousand fields are compared once', async () => {
    const service = startService()
    const type = 'application/x-www-form-urlencoded'
    const body = 'a[b]=1&'.repeat(100_000)
    for (const isReplay of [false, true]) {
      expect(await service.send({ key: 'k', body, type })).toMatchObject({ status: 201, isReplay })
    }
  })

  it('a body over the limit is refused before it is read whole', async () => {
    const service = startService({ fingerprint: { bodyBytesMax: 1000 } })
    expect((await service.send({ key: 'k', body: 'x'.repeat(1001) })).status).toBe(413)
  })

  it.each([
    ['characters', 'x'],
    ['escapes', '\\n'],
  ])('a text of 16 megabytes of %s has a canonical form, if that is asked for', (_, unit) => {
    const text = unit.repeat(Math.floor(16_777_000 / unit.length))
    expect(canonicalJson(`{"b":1,"a":"${text}"}`)?.length).toBe(text.length + 14)
  })

  it('a body that no expression could match is compared byte for byte', () => {
    const body = Buffer.from(`"${'\\n'.repeat(17_000_000)}"`)
    const request = { method: 'POST', path: '/', contentType: 'application/json', body }
    const options = { canonicalBytesMax: Number.POSITIVE_INFINITY }
    expect(fingerprintRequest(request, options)).toHaveLength(1)
  })

  it('what is nested deeply is masked, and no operator’s page breaks', () => {
    const deep: unknown = JSON.parse(`{"password":${nested(50_000)},"list":${nested(50_000)}}`)
    const shown = exactJson(redactor()(deep))
    expect(shown).toContain('"password":"REDACTED:')
    expect(shown).toContain('nested too deeply')
  })
})

describe('bombs for operations in phases', () => {
  let database: TemporaryDatabase
  let pool: pg.Pool
  beforeAll(async () => {
    database = await temporaryDatabase()
    pool = new pg.Pool({ connectionString: database.url, max: 4 })
    pool.on('error', () => {})
  })
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  it('a body too large to be compared as JSON is refused when it is nested too deeply', async () => {
    const reprise = createReprise({ store: postgresStore(pool) })
    const anything = {
      '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
    } as const
    const take = operation(
      'take',
      { reprise, input: anything },
      { started: phase(async () => respond(201, 'ok')) },
    )
    const handle = serve(take, { caller: () => 'me' })
    const send = (key: string, body: string) => {
      const headers = { 'idempotency-key': key, 'content-type': 'application/json' }
      return handle(new Request('http://a.example/take', { method: 'POST', headers, body }))
    }
    const deep = await send('deep', nested(600_000))
    expect([deep.status, (await deep.json()).code]).toEqual([400, 'idempotency-body-invalid'])
    const wide = await send('wide', `[${'"[[[[{{\\\\",'.repeat(200_000)}"\\u0000"]`)
    expect(wide.status).toBe(201)
    await reprise.close()
  })
})
