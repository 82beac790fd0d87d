/**
 * Parts of the page that need no browser.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { parseExact } from '../../dashboard/exact-json.ts'
import { apiQuery, parseFilter, without } from '../../dashboard/filter.ts'
import { capped } from '../../dashboard/strings.ts'
import { exactJson } from '../../src/dashboard/reply.ts'

describe('D-21 the language of filters', () => {
  test.each([
    ['key:7f3a*', { key: '7f3a*' }],
    ['route:"POST /rides" state:stuck', { operation: 'POST /rides', states: ['stuck'] }],
    ['method:post route:/rides', { operation: 'POST /rides' }],
    ['state:stuck state:failed', { states: ['stuck', 'failed'] }],
    ['scope:acct_42 point:charge_created', { caller: 'acct_42', recoveryPoint: 'charge_created' }],
    ['client:acct_42', { caller: 'acct_42' }],
    ['code:402 request:req_1', { status: 402, requestId: 'req_1' }],
    ['age>1h replays>3', { olderThanMs: 3_600_000, duplicatesMin: 4 }],
    ['', {}],
  ])('%s', (text, filter) => {
    expect(parseFilter(text)).toMatchObject({ filter, problem: undefined, word: undefined })
  })

  test.each([
    ['colour:red state:stuck', /no field colour\. There are: key, route, method, state/],
    ['state:lost', /state can not be lost: running/],
    ['code:abc', /a status such as 402/],
    ['age>soon', /a span such as 30m/],
    ['replays>many', /a whole number/],
    ['method:POST', /needs route/],
    ['key: state:stuck', /key can not be empty/],
    ['state:stuck something', /something is no key/],
  ])('%s is wrong', (text, problem) => {
    expect(parseFilter(text).problem).toMatch(problem)
  })

  it('takes a word alone for a key, also one with a colon', () => {
    expect(parseFilter(' 7f3a-91 ').word).toBe('7f3a-91')
    expect(parseFilter('order:91:retry').word).toBe('order:91:retry')
  })

  it('becomes the question to the API, and loses a condition at a time', () => {
    const { filter, chips } = parseFilter('state:stuck state:failed code:402')
    expect(String(apiQuery(filter))).toBe('state=stuck&state=failed&status=402')
    const [first] = chips
    expect(first && without(chips, first)).toBe('state:failed code:402')
  })
})

test('D-10 counts stop at ten thousand', () => {
  expect([capped(9_999), capped(10_000)]).toEqual(['9\u202f999', '10\u202f000+'])
})

describe('D-34 JSON with every digit', () => {
  test('is written', () => {
    const value = {
      big: 12345678901234567890n,
      more: { $number: '90071992547409931' },
      text: '\u00001',
      bytes: new Uint8Array([202, 254]),
    }
    expect(exactJson(value)).toBe(
      String.raw`{"big":12345678901234567890,"more":90071992547409931,"text":" \u00001","bytes":{"hex":"cafe","bytes":2}}`,
    )
  })

  test('is read', () => {
    const tree = parseExact('{"a": [1.0, 12345678901234567890, "x\\"y"], "b": {}, "c": null}')
    const plain = (text: string) => ({ kind: 'plain', text })
    expect(tree).toEqual({
      kind: 'object',
      members: [
        [
          'a',
          {
            kind: 'list',
            items: [plain('1.0'), plain('12345678901234567890'), { kind: 'text', text: 'x"y' }],
          },
        ],
        ['b', { kind: 'object', members: [] }],
        ['c', plain('null')],
      ],
    })
  })
})

describe('A-06 the colours', () => {
  const css = readFileSync(join(import.meta.dirname, '../../dashboard/style.css'), 'utf8')
  const tokens = new Map(
    [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
      ([, name = '', light = '', dark = '']) => [name, { light, dark }],
    ),
  )
  const luminance = (color: string) => {
    const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    const [red = 0, green = 0, blue = 0] = parts.map((part) =>
      part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const contrast = (one: string, other: string, theme: 'light' | 'dark') => {
    const [a, b] = [one, other].map((name) => luminance(tokens.get(name)?.[theme] ?? ''))
    return (Math.max(a ?? 0, b ?? 0) + 0.05) / (Math.min(a ?? 0, b ?? 0) + 0.05)
  }

  const TEXT = ['text', 'soft', 'link', 'good', 'bad', 'warn']
  const GRAPHICS = ['edge', 'plot-1', 'plot-2', 'plot-3', 'plot-4', 'link']

  describe.each(['light', 'dark'] as const)('of the %s theme', (theme) => {
    test.each(
      TEXT.flatMap((text) => ['card', 'back', 'code'].map((back) => [text, back] as const)),
    )('text %s on %s has 4.5 to 1', (text, back) => {
      expect(contrast(text, back, theme)).toBeGreaterThanOrEqual(4.5)
    })

    test.each([
      ['on-link', 'link'],
      ['on-bad', 'bad'],
    ])('text %s on %s has 4.5 to 1', (text, back) => {
      expect(contrast(text, back, theme)).toBeGreaterThanOrEqual(4.5)
    })

    test.each(GRAPHICS)('graphics in %s have 3 to 1', (name) => {
      expect(contrast(name, 'card', theme)).toBeGreaterThanOrEqual(3)
      expect(contrast(name, 'back', theme)).toBeGreaterThanOrEqual(3)
    })
  })
})
