/**
 * Where the libraries of this field break, one test per hole, on every store. The holes that only
 * HTTP has are checks of the adapter contract.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fingerprintRequest } from '../../src/core/fingerprint.ts'
import type { CapturedResponse } from '../../src/core/response.ts'
import { systemClock } from '../../src/engine/clock.ts'
import type { RunRequest } from '../../src/engine/job.ts'
import { createReprise, type Reprise, type RepriseOptions } from '../../src/engine/reprise.ts'
import type { ClaimRequest, Store } from '../../src/engine/store.ts'
import { type Ground, grounds } from './stores.ts'

const HOUR_MS = 3_600_000
/** Long enough never to lapse by itself. */
const LEASE_MS = HOUR_MS

let keys = 0

/** A request that no other test sends. */
function fresh(part: Partial<RunRequest> = {}): RunRequest {
  const key = `hole-${process.pid}-${++keys}`
  return { caller: 'acct', operation: 'POST /charges', key, fingerprints: ['f1'], ...part }
}

function answer(body = 'done', status = 201): CapturedResponse {
  return { status, headers: [], body: new TextEncoder().encode(body) }
}

/** A handler that waits for the test's word. */
function slow() {
  let count = 0
  let go: (response: CapturedResponse) => void = () => {}
  let begin: () => void = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const handler = () => {
    count++
    begin()
    return new Promise<CapturedResponse>((resolve) => {
      go = resolve
    })
  }
  return { handler, begun, end: (response = answer()) => go(response), count: () => count }
}

describe.each(grounds())('on $name', ({ make }) => {
  let ground: Ground
  let reprise: Reprise
  beforeAll(async () => {
    ground = await make()
    reprise = engine()
  })
  afterAll(async () => {
    await ground.dispose?.()
  })

  /** Another process; `dead` ones never renew and never wait. */
  function engine(options: Partial<RepriseOptions> = {}, store: Store = ground.store): Reprise {
    return createReprise({ store, leaseMs: LEASE_MS, replayCache: false, ...options })
  }

  /** A process whose heart stops: what it has begun goes on, its lease is not renewed. */
  const frozen = { ...systemClock, after: () => () => {} }

  it('hole 1: a mismatch reply does not overwrite the record', async () => {
    const request = fresh()
    await reprise.run(request, async () => answer('first'))
    const other = { ...request, fingerprints: ['f2'] }

    expect((await reprise.run(other, async () => answer('second'))).outcome).toBe('mismatch')

    const retry = await reprise.run(request, async () => answer('third'))
    expect(retry).toMatchObject({ outcome: 'replayed', response: { status: 201 } })
  })

  it('hole 2: our own "in progress" is not stored', async () => {
    const request = fresh()
    const { handler, begun, end } = slow()
    const first = reprise.run(request, handler)
    await begun

    expect((await engine({}, ground.peer).run(request, handler)).outcome).toBe('in_progress')
    end()

    expect((await first).outcome).toBe('executed')
    expect((await reprise.run(request, handler)).outcome).toBe('replayed')
  })

  it('hole 3: a store that throws or hangs has a bounded, declared answer', async () => {
    const down = Object.assign(Object.create(ground.store) as Store, {
      ready: () => Promise.resolve(),
      claim: () => Promise.reject(new Error('down')),
      find: () => Promise.reject(new Error('down')),
    })
    const hanging = { ...down, claim: () => new Promise<never>(() => {}) } as Store
    const unavailable = { code: 'idempotency-store-unavailable', status: 503 }
    let runs = 0
    const handler = async () => {
      runs++
      return answer()
    }

    for (const store of [down, hanging]) {
      const run = engine({ storeTimeoutMs: 50 }, store).run(fresh(), handler)
      await expect(run).rejects.toMatchObject(unavailable)
    }
    expect(runs).toBe(0)
  })

  it('hole 5: of many at once with one key, one runs', async () => {
    const request = fresh()
    const processes = [engine(), engine({}, ground.peer), engine(), engine({}, ground.peer)]
    const requests = Array.from({ length: 10 }, () => request)
    let runs = 0
    const handler = async () => {
      runs++
      return answer()
    }

    const results = await Promise.all(
      processes.flatMap((process) => requests.map((copy) => process.run(copy, handler))),
    )

    expect(runs).toBe(1)
    expect(results.filter(({ outcome }) => outcome === 'executed')).toHaveLength(1)
  })

  it('hole 6: an expired record that is still there can be claimed', async () => {
    const request = fresh()
    await reprise.run(request, async () => answer('first'))
    await ground.advance(25 * HOUR_MS)

    const retry = await reprise.run({ ...request, fingerprints: ['f2'] }, async () => answer('new'))

    expect(retry.outcome).toBe('executed')
  })

  it('hole 7: a claim that is lost to a record that then goes is taken anew, never run bare', async () => {
    const request = fresh()
    const claims: ClaimRequest[] = []
    const spied = Object.assign(Object.create(ground.store) as Store, {
      ready: () => ground.store.ready(),
      claim: (claim: ClaimRequest) => {
        claims.push(claim)
        return ground.store.claim(claim)
      },
      finish: ground.store.finish.bind(ground.store),
      release: ground.store.release.bind(ground.store),
      watch: undefined,
    })
    const { handler, begun, end, count } = slow()
    const first = reprise.with({ marksEffect: true }).run(request, async (run) => {
      const response = await handler()
      run.release()
      return response
    })
    await begun
    const waiting = engine({ waitMs: 20_000 }, spied).run(request, async () => answer('second'))
    end()
    await first

    expect((await waiting).outcome).toBe('executed')
    expect(claims.length).toBeGreaterThan(0)
    expect(count()).toBe(1)
    expect((await reprise.run(request, handler)).outcome).toBe('replayed')
  })

  it('hole 9: a process that slept beyond its lease can not complete, release or renew', async () => {
    const request = fresh()
    const { handler, begun, end } = slow()
    const zombie = engine({ clock: frozen }).run(request, handler)
    await begun
    await ground.advance(LEASE_MS)
    const heir = await engine({ afterCrash: 'rerun' }, ground.peer).run(request, async () =>
      answer('heir'),
    )
    end(answer('zombie'))

    expect(heir.outcome).toBe('executed')
    const woken = await zombie
    expect(woken.outcome).toBe('replayed')
    const retry = await reprise.run(request, async () => answer('late'))
    for (const result of [woken, retry]) {
      if (result.outcome !== 'replayed') throw new Error(result.outcome)
      expect(new TextDecoder().decode(result.response.body)).toBe('heir')
    }
  })

  it('hole 11: a waiter whose time is up leaves the owner alone', async () => {
    const request = fresh()
    const { handler, begun, end, count } = slow()
    const first = reprise.run(request, handler)
    await begun

    const waiter = await engine({ waitMs: 30 }, ground.peer).run(request, handler)
    end()

    expect(waiter.outcome).toBe('in_progress')
    expect(await first).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(count()).toBe(1)
  })

  it('hole 12: a claim that took effect although it failed is recognised by its owner', async () => {
    let isLost = true
    const lossy = Object.assign(Object.create(ground.store) as Store, {
      ready: () => ground.store.ready(),
      async claim(claim: ClaimRequest) {
        const result = await ground.store.claim(claim)
        if (!isLost) return result
        isLost = false
        throw new Error('connection reset')
      },
      finish: ground.store.finish.bind(ground.store),
    })

    const result = await engine({}, lossy).run(fresh(), async () => answer())

    expect(result).toMatchObject({ outcome: 'executed', fate: 'stored' })
  })

  it('hole 13: nested and parallel operations on one store do not mix', async () => {
    const requests = Array.from({ length: 20 }, () => fresh())

    const bodies = await Promise.all(
      requests.map(async (request) => {
        const run = () =>
          reprise.run(request, async () => {
            const inner = { ...request, operation: 'inner' }
            await reprise.run(inner, async () => answer(`inner ${request.key}`))
            return answer(`outer ${request.key}`)
          })
        await run()
        const replay = await run()
        return 'response' in replay ? new TextDecoder().decode(replay.response.body) : ''
      }),
    )

    expect(bodies).toEqual(requests.map(({ key }) => `outer ${key}`))
  })

  it('hole 14: another caller or operation with the same key has a record of its own', async () => {
    const request = fresh()
    const outcomes: string[] = []
    for (const part of [{}, { caller: 'other' }, { operation: 'POST /refunds' }]) {
      const result = await reprise.run({ ...request, ...part }, async () => answer())
      outcomes.push(result.outcome)
    }

    expect(outcomes).toEqual(['executed', 'executed', 'executed'])
  })

  it('hole 15: the same body under different keys is legal', async () => {
    const [one, two] = [fresh(), fresh()]

    expect((await reprise.run(one, async () => answer())).outcome).toBe('executed')
    expect((await reprise.run(two, async () => answer())).outcome).toBe('executed')
  })

  it('hole 17: a handler that throws after its effect is not run again', async () => {
    const request = fresh()
    let effects = 0
    const handler = async () => {
      effects++
      throw new Error('after the effect')
    }

    await expect(reprise.run(request, handler)).rejects.toThrow('after the effect')
    expect((await reprise.run(request, handler)).outcome).toBe('unknown')
    expect((await engine({}, ground.peer).run(request, handler)).outcome).toBe('unknown')
    expect(effects).toBe(1)
  })

  it('hole 20: sweeping never drops what is unfinished', async () => {
    const request = fresh()
    const { handler, begun, end } = slow()
    const first = engine({ clock: frozen, retentionMs: LEASE_MS }).run(request, handler)
    await begun
    await ground.advance(48 * HOUR_MS)

    await ground.store.sweep(10_000)
    end()

    // Its holder still finds it, and may finish it.
    expect(await first).toMatchObject({ outcome: 'executed', fate: 'stored' })
  })

  it('hole 21: member order does not matter, number lexemes do', async () => {
    const { key } = fresh()
    const request = (body: string): RunRequest => ({
      ...fresh({ key }),
      fingerprints: fingerprintRequest({
        ...{ method: 'POST', path: '/charges', contentType: 'application/json' },
        body: new TextEncoder().encode(body),
      }),
    })
    await reprise.run(request('{"amount":9007199254740993,"to":"\\u00e9"}'), async () => answer())

    const same = request('{ "to": "é", "amount": 9007199254740993 }')
    const other = request('{"amount":9007199254740992,"to":"é"}')
    expect((await reprise.run(same, async () => answer())).outcome).toBe('replayed')
    expect((await reprise.run(other, async () => answer())).outcome).toBe('mismatch')
  })
})
