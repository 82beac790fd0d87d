import { describe, expect, it } from 'vitest'
import { fuzzBodies } from './bodies.ts'
import { flood } from './flood.ts'
import { fuzzHeaders } from './headers.ts'

/** `npm run fuzz` takes larger numbers. */
const HEADERS = 4000
const BODIES = 600
const KEYS = 5000

describe('hostile requests', () => {
  it('any header value is refused with 400, or is a key with one answer of its own', async () => {
    const { sent, accepted, replayed, refused } = await fuzzHeaders(1, HEADERS)
    expect(sent).toBe(HEADERS)
    for (const seen of [accepted, replayed, refused]) expect(seen).toBeGreaterThan(HEADERS / 50)
  })

  it('any body is refused, or has one effect and an answer that no other body gets', async () => {
    const { sent, executed, refused, mismatched, equal } = await fuzzBodies(1, BODIES)
    expect([sent, executed + refused]).toEqual([BODIES, BODIES])
    for (const seen of [refused, equal]) expect(seen).toBeGreaterThan(0)
    expect(mismatched).toBeGreaterThan(BODIES / 4)
  })

  it('very many keys of one caller each run once, and nobody else notices', async () => {
    expect(await flood(KEYS)).toEqual({ keys: KEYS })
  })
})
