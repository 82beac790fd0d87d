import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hitRate } from '../../src/telemetry/index.ts'

describe('the hit rate in words', () => {
  it.each([
    [0, 0, 'not_enough_data'],
    [99, 99, 'not_enough_data'],
    [0, 100, 'quiet'],
    [1, 101, 'quiet'],
    [9, 1000, 'quiet'],
    [1, 100, 'healthy'],
    [10, 1000, 'healthy'],
    [5, 100, 'healthy'],
    [50, 1000, 'healthy'],
    [51, 1000, 'watch'],
    [6, 100, 'watch'],
    [20, 100, 'watch'],
    [200, 1000, 'watch'],
    [201, 1000, 'investigate'],
    [21, 100, 'investigate'],
    [100, 100, 'investigate'],
    // Divided, these meet the edges only nearly.
    [29, 2900, 'healthy'],
    [57, 1140, 'healthy'],
    [1_000_003, 5_000_015, 'watch'],
  ] as const)('%i of %i is %s', (hit, checked, band) => {
    expect(hitRate({ hit, checked }).band).toBe(band)
  })

  it('says each band in its own words', () => {
    const rates = [
      { hit: 0, checked: 99 },
      { hit: 0, checked: 100 },
      { hit: 3, checked: 100 },
      { hit: 15, checked: 100 },
      { hit: 50, checked: 100 },
    ].map((counts) => hitRate(counts))
    const labels = ['Not enough data', 'Quiet', 'Healthy', 'Watch', 'Investigate']

    expect(rates.map(({ label }) => label)).toEqual(labels)
    expect(new Set(rates.map(({ range }) => range)).size).toBe(5)
    expect(new Set(rates.map(({ meaning }) => meaning)).size).toBe(5)
    expect(rates.map(({ rate }) => rate)).toEqual([0, 0, 0.03, 0.15, 0.5])
    expect(hitRate({ hit: 0, checked: 0 }).rate).toBeNull()
  })

  it('never gets better with more hits', () => {
    const order = ['quiet', 'healthy', 'watch', 'investigate']
    const counts = fc.integer({ min: 100, max: 100_000 }).chain((checked) => {
      return fc.record({ checked: fc.constant(checked), hit: fc.integer({ min: 1, max: checked }) })
    })
    fc.assert(
      fc.property(counts, ({ hit, checked }) => {
        const [fewer, more] = [hit - 1, hit].map((each) => {
          return order.indexOf(hitRate({ hit: each, checked }).band)
        })
        expect(more).toBeGreaterThanOrEqual(fewer ?? 0)
      }),
    )
  })
})
