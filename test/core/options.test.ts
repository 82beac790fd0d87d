import { describe, expect, it } from 'vitest'
import { type RunOptions, resolveRunOptions } from '../../src/core/options.ts'
import { replayCaching } from '../../src/engine/replay-cache.ts'
import { createReprise, type RepriseOptions } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'

const key = new Uint8Array(32)

describe('options', () => {
  it('have the documented defaults', () => {
    const { retentionMs, policy, ...rest } = resolveRunOptions()

    expect(retentionMs('anyone')).toBe(86_400_000)
    expect(policy({ status: 200, headers: [], body: new Uint8Array() }, 'unknown')).toBe('store')
    expect(rest).toEqual({
      leaseMs: 30_000,
      retentionIsFixed: true,
      afterCrash: 'refuse',
      marksEffect: false,
      waitMs: 0,
      headers: {},
      bodyBytesMax: 1_048_576,
      compressBytesMin: 1024,
      encryption: undefined,
      storeTimeoutMs: 5000,
      transactionAttemptsMax: 5,
    })
  })

  it.each<[string, object]>([
    ['leaseMs', { leaseMs: 0 }],
    ['leaseMs', { leaseMs: Number.NaN }],
    ['leaseMs', { leaseMs: Number.POSITIVE_INFINITY }],
    ['waitMs', { waitMs: -1 }],
    ['storeTimeoutMs', { storeTimeoutMs: 0 }],
    ['retentionMs', { retentionMs: 1000, leaseMs: 2000 }],
    ['retentionMs', { retentionMs: 1e15 }],
    ['bodyBytesMax', { bodyBytesMax: 1.5 }],
    ['compressBytesMin', { compressBytesMin: -1 }],
    ['transactionAttemptsMax', { transactionAttemptsMax: 0 }],
    ['afterCrash', { afterCrash: 'ignore' }],
    ['policy', { policy: 'stripe' }],
    ['encryption', { encryption: { current: 'a', keys: { a: key } } }],
  ])('are refused at start where %s makes no sense: %o', (name, given) => {
    // Some of these can only come from JavaScript.
    const options = given as RunOptions
    expect(() => createReprise({ store: memoryStore(), ...options })).toThrow(name)
    expect(() => resolveRunOptions(options)).toThrow(
      expect.objectContaining({ code: 'reprise-options-invalid' }),
    )
  })

  it.each<[string, Partial<RepriseOptions>]>([
    ['waiters.perKeyMax', { waiters: { perKeyMax: -1 } }],
    ['waiters.totalMax', { waiters: { totalMax: 0.5 } }],
    ['replayCache.bytesMax', { replayCache: { bytesMax: -1 } }],
    ['replayCache.ageMsMax', { replayCache: { ageMsMax: Number.NaN } }],
  ])('are refused at start where %s makes no sense', (name, options) => {
    const store = Object.assign(memoryStore(), { caching: replayCaching })
    expect(() => createReprise({ store, ...options })).toThrow(name)
  })

  it('say what to change when they contradict each other', () => {
    expect(() => resolveRunOptions({ retentionMs: 1000, leaseMs: 2000 })).toThrow(
      'Raise retentionMs or lower leaseMs',
    )
  })

  it('check what a retention function says each time', () => {
    const { retentionMs } = resolveRunOptions({ retentionMs: (caller) => Number(caller) })

    expect(retentionMs('60000')).toBe(60_000)
    expect(() => retentionMs('1')).toThrow('retentionMs')
    expect(() => retentionMs('x')).toThrow('retentionMs')
  })
})
