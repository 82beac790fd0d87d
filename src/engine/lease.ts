/**
 * Keeps a lease alive while its handler runs, and says when it is lost.
 *
 * @module
 */

import { RepriseError } from '../core/errors.ts'
import { storeCall } from './bounded.ts'
import type { Cancel, Clock } from './clock.ts'
import type { Claim, Store } from './store.ts'

/** What keeping a lease needs. */
export interface LeaseKeeping {
  readonly store: Pick<Store, 'renew'>
  readonly claim: Claim
  readonly leaseMs: number
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/** Two renewals may fail before the lease lapses. */
const RENEWALS_PER_LEASE = 3

/**
 * A lease being renewed every third of its length. The signal is aborted with `reprise-lease-lost`
 * when another run has taken over, or when no renewal has succeeded for the whole of the lease, so
 * that another run may.
 */
export class Lease {
  readonly #keeping: LeaseKeeping
  readonly #lost = new AbortController()
  #heldSince: number
  #cancel: Cancel | undefined

  constructor(keeping: LeaseKeeping) {
    this.#keeping = keeping
    this.#heldSince = keeping.clock.now()
    this.#schedule()
  }

  /** Aborted when the lease is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /** Ends the renewals. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #schedule(): void {
    const { clock, leaseMs } = this.#keeping
    this.#cancel = clock.after(leaseMs / RENEWALS_PER_LEASE, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    const { store, claim, leaseMs, clock, onError } = this.#keeping
    const askedAt = clock.now()
    try {
      const call = () => store.renew(claim, leaseMs)
      if (!(await storeCall(clock, leaseMs / RENEWALS_PER_LEASE, call))) return this.#lose()
      this.#heldSince = askedAt
    } catch (error) {
      onError(error)
      if (clock.now() - this.#heldSince >= leaseMs) return this.#lose()
    }
    if (this.#cancel !== undefined) this.#schedule()
  }

  #lose(): void {
    if (this.#cancel === undefined) return
    this.stop()
    this.#lost.abort(new RepriseError('reprise-lease-lost'))
  }
}
