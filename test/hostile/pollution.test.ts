import { describe, expect, it } from 'vitest'
import { fieldOf } from '../../src/adapters/body-field.ts'
import { createAdmin } from '../../src/admin/index.ts'
import { parseExactly, redactor } from '../../src/admin/redact.ts'
import { valueOfBody } from '../../src/core/body-value.ts'
import { digestValue } from '../../src/core/fingerprint.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import { exactJson } from '../../src/dashboard/reply.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { Envelope } from '../../src/phases/envelope.ts'
import { memoryDesk, memoryStore } from '../../src/stores/memory/index.ts'
import { startService } from './service.ts'

const JSON_TEXTS = [
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '[{"a":{"__proto__":{"polluted":1},"toString":1,"hasOwnProperty":1}}]',
  '{"__proto__":null,"toJSON":1,"then":1}',
]
const FORMS = ['__proto__=polluted', '__proto__[polluted]=1', 'constructor[prototype][polluted]=1']

/** Whether anything has reached what all objects share. */
const polluted = () => Object.keys(Object.getOwnPropertyDescriptors(Object.prototype)).length
const before = polluted()
const isClean = () => {
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
  expect(polluted()).toBe(before)
}

describe('prototype pollution', () => {
  it.each(JSON_TEXTS)('the body %s is data, from the request to the operator', async (text) => {
    const service = startService()
    const first = await service.send({ key: 'k', body: text })
    expect(first.status).toBe(201)
    expect((await service.send({ key: 'k', body: text })).body).toBe(first.body)
    expect((await service.send({ key: 'k', body: '{}' })).status).toBe(422)

    const value = valueOfBody({ text, contentType: 'application/json' })
    expect(JSON.stringify(value)).toBe(text)
    expect(digestValue(value)).not.toEqual(digestValue({}))
    const envelope = new Envelope(createReprise({ store: memoryStore() }).options, 'id')
    const stored = { token: 't', version: 1, graph: 'g', care: null, input: value }
    const { input } = await envelope.openInput(await envelope.sealInput(stored))
    expect(JSON.stringify(input)).toBe(text)
    const shown = redactor()(parseExactly(text))
    expect(JSON.stringify(shown)).toBe(text)
    expect(exactJson(shown)).toBe(text)
    isClean()
  })

  it.each(FORMS)('the form %s is data', async (text) => {
    const contentType = 'application/x-www-form-urlencoded'
    const service = startService()
    expect((await service.send({ key: 'k', body: text, type: contentType })).status).toBe(201)
    const value = valueOfBody({ text, contentType })
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.keys(Object(value))).toEqual([...new URLSearchParams(text).keys()])
    isClean()
  })

  it('no key is read from what all objects share', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      expect(fieldOf({ parsed: {} }, name)).toBeUndefined()
      expect(fieldOf({ text: '{}', contentType: 'application/json' }, name)).toBeUndefined()
    }
  })

  it('orders to the dashboard are data', async () => {
    const reprise = createReprise({ store: memoryStore({ desk: memoryDesk }) })
    const dashboard = createDashboard({
      admin: createAdmin(reprise),
      unsafeNoAuth: true,
      basePath: '/d',
    })
    for (const path of [
      'batches',
      'requests/x/expire',
      'workers/reaper/pause',
      'letters/1/settle',
    ]) {
      for (const body of [...JSON_TEXTS, '{"filter":{"__proto__":{"states":[]}},"reason":"x"}']) {
        const headers = {
          'idempotency-key': 'k',
          'content-type': 'application/json',
          origin: 'http://a.example',
          host: 'a.example',
        }
        const request = new Request(`http://a.example/d/api/${path}`, {
          method: 'POST',
          headers,
          body,
        })
        expect([path, (await dashboard(request)).status < 500]).toEqual([path, true])
      }
    }
    isClean()
  })

  it('words of a body never become numbers, names or syntax of what an operator is shown', () => {
    const given = {
      '\u00000': 'name',
      text: 'x"\u00000',
      list: ['\u00000', '"\u00000"', '\\"\u00000'],
      big: 12345678901234567890n,
    }
    const shown = JSON.parse(exactJson(given))
    expect(Object.keys(shown)).toEqual(Object.keys(given))
    expect(shown.text).toBe(given.text)
    expect(exactJson(given)).toContain('"big":12345678901234567890')
  })
})
