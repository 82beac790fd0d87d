import { describe, expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/fetch.ts'
import { once } from '../../src/adapters/once.ts'
import { openApiFragment } from '../../src/adapters/openapi.ts'
import { publishedPolicy } from '../../src/adapters/published-policy.ts'
import { dialects } from '../../src/core/dialects/index.ts'
import { resolveRunOptions } from '../../src/core/options.ts'
import type { RepriseEvent } from '../../src/engine/events.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { createMetrics } from '../../src/telemetry/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

const MINUTE_MS = 60_000
const quota = { keys: 2, perMs: MINUTE_MS }

/** An engine with a quota, and what is sent to it. */
function world(options: Parameters<typeof resolveRunOptions>[0] = { quota }) {
  const clock = new FakeClock()
  const events: RepriseEvent[] = []
  const metrics = createMetrics()
  const onEvent = (event: RepriseEvent) => {
    events.push(event)
    metrics.onEvent(event)
  }
  const reprise = createReprise({ store: memoryStore({ clock }), clock, onEvent, ...options })
  let runs = 0
  const send = (key: string, caller = 'acct_1') =>
    reprise.run({ caller, operation: 'POST /', key, fingerprints: ['same'] }, async () => {
      runs++
      return { status: 201, headers: [], body: new Uint8Array() }
    })
  return { clock, reprise, events, metrics, send, runs: () => runs }
}

describe('a quota', () => {
  it('refuses the key that is one too many until an older one no longer counts', async () => {
    const { clock, send, runs } = world()
    await send('one')
    clock.advance(20_000)
    await send('two')
    expect(await send('three')).toEqual({ outcome: 'over_quota', retryAfterMs: 40_000 })
    expect((await send('one')).outcome).toBe('replayed')
    expect((await send('one', 'acct_2')).outcome).toBe('executed')
    clock.advance(40_000)
    expect((await send('three')).outcome).toBe('executed')
    expect(runs()).toBe(4)
  })

  it('is told to the listener, once, and counted as rejected', async () => {
    const { events, metrics, send } = world({ quota: { keys: 1, perMs: MINUTE_MS } })
    await send('one')
    await send('two')
    expect(events.map(({ type }) => type)).toEqual(['executed', 'over_quota'])
    expect(metrics.text()).toMatch(/idempotency_rejected_total\{operation="POST \/"\} 1\n/)
  })

  it('may be another one for each caller, or none', async () => {
    const quotaOf = (caller: string) => (caller === 'small' ? { ...quota, keys: 1 } : undefined)
    const { send } = world({ quota: quotaOf })
    const outcomes = []
    for (const caller of ['small', 'large']) {
      for (const key of ['one', 'two', 'three']) outcomes.push((await send(key, caller)).outcome)
    }
    expect(outcomes).toEqual([
      ...['executed', 'over_quota', 'over_quota'],
      ...['executed', 'executed', 'executed'],
    ])
  })

  it('is not used up by a request that fails and is sent again', async () => {
    const { reprise, send } = world({ quota: { keys: 1, perMs: MINUTE_MS } })
    const request = { caller: 'acct_1', operation: 'POST /', key: 'one', fingerprints: ['same'] }
    for (let attempt = 1; attempt <= 5; attempt++) {
      const busy = { status: 429, headers: [], body: new Uint8Array() }
      expect(await reprise.run(request, async () => busy)).toMatchObject({ fate: 'forgotten' })
    }
    expect((await send('one')).outcome).toBe('executed')
  })

  it('is an error of once()', async () => {
    const { reprise } = world({ quota: { keys: 1, perMs: MINUTE_MS } })
    const request = { caller: 'acct_1', operation: 'mail', input: 1 }
    await once(reprise, { ...request, key: 'one' }, async () => 1)
    const second = once(reprise, { ...request, key: 'two' }, async () => 1)
    await expect(second).rejects.toMatchObject({ code: 'idempotency-quota-exceeded', status: 429 })
  })

  it.each(Object.values(dialects))('is answered 429 in the dialect $name', async (dialect) => {
    const reprise = createReprise({ store: memoryStore(), quota: { keys: 1, perMs: MINUTE_MS } })
    const handle = idempotent(reprise, { caller: () => 'acct_1', dialect }, async () => {
      return new Response('made', { status: 201 })
    })
    const post = (key: string) => {
      const headers = { [dialect.header]: key }
      return handle(new Request('http://a.example/charges', { method: 'POST', headers }))
    }
    await post('one-key-000000000000000000')
    const answer = await post('two-key-000000000000000000')
    expect(answer.status).toBe(429)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(answer.headers.get('content-type')).toBe(dialect.errors.contentType)
    const { retry } = dialect.marks
    if (retry !== null) expect(answer.headers.get(retry.header)).toBe(retry.again)
    expect(await answer.text()).toContain('Too many fresh idempotency keys')
  })

  it('is published where there is one', () => {
    const options = { caller: () => 'acct_1' }
    const codesOf = (engine: { quota?: typeof quota }) =>
      publishedPolicy(options, engine).errors.map(({ code }) => code)
    expect(codesOf({})).not.toContain('idempotency-quota-exceeded')
    expect(codesOf({ quota })).toContain('idempotency-quota-exceeded')
    expect(openApiFragment({ ...options, quota }).responses).toHaveProperty('429')
  })

  it.each([
    [{ keys: 0, perMs: 1 }, 'quota.keys'],
    [{ keys: 1.5, perMs: 1 }, 'quota.keys'],
    [{ keys: 10_001, perMs: 1 }, 'quota.keys'],
    [{ keys: 1, perMs: 0 }, 'quota.perMs'],
    [{ keys: 1, perMs: 86_400_001 }, 'retentionMs'],
  ])('of %o is refused at start, and when a function says it', (wrong, named) => {
    expect(() => resolveRunOptions({ quota: wrong })).toThrow(named)
    const { quota: quotaOf } = resolveRunOptions({ quota: () => wrong })
    expect(() => quotaOf?.('acct_1')).toThrow(named)
  })
})
