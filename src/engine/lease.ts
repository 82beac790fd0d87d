/**
 * Keeps a lease alive while its handler runs, and says when it is lost.
 *
 * @module
 */

import { LEASE_LOST } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { storeCall } from './bounded.ts'
import type { Cancel, Clock } from './clock.ts'
import { Deadlines, Due } from './deadlines.ts'
import type { Claim, Store } from './store.ts'

/** What keeping a lease needs. */
export interface LeaseKeeping {
  readonly store: Pick<Store, 'renew'>
  readonly claim: Claim
  readonly leaseMs: number
  readonly clock: Clock
  onError(error: unknown): void
  /**
   * Told when the lease is lost while the handler runs.
   *
   * @default nobody is told but who listens to the signal
   */
  onLost?(): void
}

/** Two renewals in a row may fail and the third still comes before the lease lapses. */
const RENEWALS_PER_LEASE = 4

/** Most leases are over before their first renewal: until then those of one length share a timer. */
const firsts = new WeakMap<Clock, Map<number, Deadlines>>()

function firstRenewals(clock: Clock, leaseMs: number): Deadlines {
  const known = firsts.get(clock)?.get(leaseMs)
  if (known !== undefined) return known
  const made = new Deadlines(clock, leaseMs / RENEWALS_PER_LEASE)
  const lengths = firsts.get(clock) ?? new Map<number, Deadlines>()
  firsts.set(clock, lengths.set(leaseMs, made))
  return made
}

/**
 * A lease being renewed every quarter of its length. The signal is aborted with `reprise-lease-lost`
 * when another run has taken over, or when no renewal has succeeded for the whole of the lease, so
 * that another run may.
 */
export class Lease extends Due {
  readonly #keeping: LeaseKeeping
  readonly #firsts: Deadlines
  readonly #takenAt: number
  /** Made when somebody asks for it, which few handlers do. */
  #lost: AbortController | undefined
  #isLost = false
  #cancelRenewal: Cancel | undefined
  #cancelLapse: Cancel | undefined
  #isOver = false
  #isSettling = false

  constructor(keeping: LeaseKeeping) {
    super()
    const { clock, leaseMs } = keeping
    this.#keeping = keeping
    this.#takenAt = clock.now()
    this.#firsts = firstRenewals(clock, leaseMs)
    this.#firsts.add(this, this.#takenAt)
  }

  /** Aborted when the lease is lost. */
  get signal(): AbortSignal {
    this.#lost ??= new AbortController()
    if (this.#isLost) this.#lost.abort(new RepriseError(LEASE_LOST))
    return this.#lost.signal
  }

  /** The handler has answered: renewals go on until the end is stored, and losing is no news. */
  settle(): void {
    this.#isSettling = true
  }

  /** Ends the renewals. */
  stop(): void {
    this.#isOver = true
    this.#firsts.remove(this)
    this.#cancelRenewal?.()
    this.#cancelLapse?.()
  }

  /** The first renewal. Until then the lease could not lapse; from here on it has timers of its own. */
  due(): void {
    this.#held(this.#takenAt)
    void this.#renew()
  }

  /** The lease holds since then: counted from before the store was asked. */
  #held(since: number): void {
    const { clock, leaseMs } = this.#keeping
    this.#cancelLapse?.()
    this.#cancelLapse = clock.after(since + leaseMs - clock.now(), () => this.#lose())
  }

  #schedule(): void {
    const { clock, leaseMs } = this.#keeping
    this.#cancelRenewal = clock.after(leaseMs / RENEWALS_PER_LEASE, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    const { store, claim, leaseMs, clock } = this.#keeping
    const askedAt = clock.now()
    try {
      const call = () => store.renew(claim, leaseMs)
      const isHeld = await storeCall({ clock, ms: leaseMs / RENEWALS_PER_LEASE }, call)
      if (this.#isOver) return
      if (!isHeld) return this.#lose()
      this.#held(askedAt)
    } catch (error) {
      this.#keeping.onError(error)
    }
    if (!this.#isOver) this.#schedule()
  }

  #lose(): void {
    if (this.#isOver) return
    this.stop()
    if (this.#isSettling) return
    this.#isLost = true
    this.#keeping.onLost?.()
    this.#lost?.abort(new RepriseError(LEASE_LOST))
  }
}
