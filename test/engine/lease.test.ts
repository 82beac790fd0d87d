import { describe, expect, it } from 'vitest'
import { Lease } from '../../src/engine/lease.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { turn } from './world.ts'

const LEASE_MS = 4000
const CLAIM = { id: 'a', owner: 'o', fence: 1 }

/** How the store answers the next renewals; it holds the lease after the last of them. */
type Renewal = 'held' | 'taken' | 'fails' | 'hangs'

/** A lease, with what its store was asked and what was said of it. */
function leaseOn(clock: FakeClock, ...renewals: Renewal[]) {
  const askedAt: number[] = []
  const errors: unknown[] = []
  let lost = 0
  const renew = async (): Promise<boolean> => {
    askedAt.push(clock.now())
    const renewal = renewals.shift() ?? 'held'
    if (renewal === 'fails') throw new Error('The store is away.')
    if (renewal === 'hangs') return new Promise(() => {})
    return renewal === 'held'
  }
  const lease = new Lease({
    ...{ store: { renew }, claim: CLAIM, leaseMs: LEASE_MS, clock },
    onError: (error) => void errors.push(error),
    onLost: () => void lost++,
  })
  return { lease, askedAt, errors, lost: () => lost }
}

/** Lets time pass, with what follows from each moment. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100)
    await turn()
  }
}

describe('a lease', () => {
  it('is renewed every quarter of its length, until it is stopped', async () => {
    const clock = new FakeClock()
    const { lease, askedAt, lost } = leaseOn(clock)
    await pass(clock, 3500)
    lease.stop()
    await pass(clock, 10_000)

    expect(askedAt).toEqual([1000, 2000, 3000])
    expect(clock.timerCount).toBe(0)
    expect([lost(), lease.signal.aborted]).toEqual([0, false])
  })

  it('is renewed again a quarter after a renewal that hung for a quarter', async () => {
    const clock = new FakeClock()
    const { lease, askedAt, errors } = leaseOn(clock, 'hangs', 'held')
    await pass(clock, 3500)
    lease.stop()

    expect(askedAt).toEqual([1000, 3000])
    expect(errors).toHaveLength(1)
  })

  it.each<[string, Renewal[]]>([
    ['another run has taken it', ['taken']],
    ['no renewal has succeeded for the whole of it', ['fails', 'fails', 'fails', 'fails']],
  ])('that is lost because %s tells once, and those who listen', async (_, renewals) => {
    const clock = new FakeClock()
    const { lease, lost } = leaseOn(clock, ...renewals)
    const reasons: unknown[] = []
    const { signal } = lease
    signal.addEventListener('abort', () => void reasons.push(signal.reason))
    await pass(clock, 3 * LEASE_MS)

    expect(reasons).toEqual([expect.objectContaining({ code: 'reprise-lease-lost' })])
    expect(lost()).toBe(1)
    expect(clock.timerCount).toBe(0)
  })

  it('that was lost before anybody asked for its signal gives one that is aborted', async () => {
    const clock = new FakeClock()
    const { lease } = leaseOn(clock, 'taken')
    await pass(clock, 1500)

    expect(lease.signal.aborted).toBe(true)
    expect(lease.signal.reason).toMatchObject({ code: 'reprise-lease-lost' })
  })

  it.each<Renewal>(['taken', 'held', 'fails'])(
    'that is stopped while its renewal is on the way stays so, whatever the answer: %s',
    async (renewal) => {
      const clock = new FakeClock()
      let answer = () => {}
      const asked = new Promise<void>((resolve) => {
        answer = resolve
      })
      const { lease, lost } = leaseOn(clock)
      let renewals = 0
      const late = new Lease({
        ...{ claim: CLAIM, leaseMs: LEASE_MS, clock },
        store: {
          renew: async () => {
            renewals++
            await asked
            if (renewal === 'fails') throw new Error('The store is away.')
            return renewal === 'held'
          },
        },
        onError: () => {},
        onLost: () => expect.unreachable('The lease was stopped.'),
      })
      lease.stop()
      clock.advance(1000)
      late.stop()
      answer()
      await turn()

      expect(clock.timerCount).toBe(0)
      await pass(clock, 2 * LEASE_MS)
      expect([renewals, lost(), late.signal.aborted]).toEqual([1, 0, false])
    },
  )

  it('that is settling is still renewed, and its loss is no news', async () => {
    const clock = new FakeClock()
    const { lease, askedAt, lost } = leaseOn(clock, 'held', 'taken')
    const { signal } = lease
    lease.settle()
    await pass(clock, 2500)

    expect(askedAt).toEqual([1000, 2000])
    expect([lost(), signal.aborted, clock.timerCount]).toEqual([0, false, 0])
  })

  it('shares one timer with the others of its length until its first renewal', () => {
    const clock = new FakeClock()
    const leases = Array.from({ length: 5 }, () => leaseOn(clock).lease)
    expect(clock.timerCount).toBe(1)
    for (const lease of leases) lease.stop()
    expect(clock.timerCount).toBe(0)
  })
})
