/** What a phase hands back is looked at before anything commits: later nobody could take it back. */

import { describe, expect, it } from 'vitest'
import { advance, operation, phase, respond, retryLater } from '../../src/phases/index.ts'
import { anything, deed, request, seen, usePhases } from './phases-world.ts'

describe('respond()', () => {
  it.each([
    ['a value with a line break', { location: '/a\nset-cookie: b' }],
    ['a value that no header can carry', { 'x-name': '名' }],
    ['a name with a space', { 'x name': 'a' }],
    ['an empty name', { '': 'a' }],
  ])('refuses a header with %s', (_, headers) => {
    expect(() => respond(201, {}, { headers })).toThrow(TypeError)
  })

  it.each([204, 205, 304])('refuses a body with %i, which has none', (status) => {
    expect(() => respond(status, { a: 1 })).toThrow(`respond() takes no body with ${status}.`)
    expect(respond(status).response.body).toHaveLength(0)
  })

  it('keeps the bytes as they were given', () => {
    const bytes = Uint8Array.of(1, 2, 3)
    const { response } = respond(200, bytes)
    bytes.fill(0)
    expect([...response.body]).toEqual([1, 2, 3])
  })
})

describe('retryLater()', () => {
  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])('refuses %d milliseconds', (afterMs) => {
    expect(() => retryLater({ afterMs })).toThrow(TypeError)
  })
})

describe('advance()', () => {
  const world = usePhases()

  it.each([
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['what makes nothing of itself', { toJSON: () => undefined }],
    ['a big integer', 1n],
    ['what contains itself', cyclic()],
    ['no number', { amount: Number.NaN }],
    ['an infinite number', [1, Number.POSITIVE_INFINITY]],
    ['a map', { lines: new Map([[1, 2]]) }],
    ['a set', new Set([1])],
  ])('refuses %s, and commits nothing', async (_, state) => {
    const op = operation(
      'odd',
      { reprise: world.other(), input: anything },
      {
        started: phase(async ({ tx }) => {
          await deed(tx, 'begun')
          return advance('second', state)
        }),
        second: phase(async () => respond(201)),
      },
    )
    await expect(op.run(request('k'))).rejects.toThrow(
      'The state for second is nothing that JSON has a form of',
    )
    expect(await world.deeds()).toEqual([])
  })

  it('hands on what is large', async () => {
    const text = 'x'.repeat(3_000_000)
    const op = operation(
      'large',
      { reprise: world.other(), input: anything },
      {
        started: phase(async ({ input }) => advance('second', { input, text })),
        second: phase(async (_, state: { input: unknown; text: string }) => {
          return respond(201, { input: state.input, length: state.text.length })
        }),
      },
    )
    const input = { note: 'é'.repeat(500_000) }
    const result = await op.run({ ...request('k'), input })
    expect(seen(result)).toEqual([
      'executed',
      201,
      JSON.stringify({ input: { note: input.note }, length: text.length }),
    ])
  })
})

function cyclic(): unknown {
  const one: { self?: unknown } = {}
  one.self = one
  return one
}
