/**
 * Which identities have a transaction open in this process.
 *
 * A duplicate that arrives here is refused without a connection, of which there may be none left.
 * Where all statements share one session this is the only way to refuse it at all.
 *
 * @module
 */

import type { InProgress, Mismatch } from '../../engine/store.ts'
import type { TransactionRequest } from '../../engine/transactions.ts'

type Asking = Pick<TransactionRequest<unknown>, 'id' | 'fingerprintsAccepted'>

/** The open transactions on one schema through one client. */
export class Running {
  static readonly #bySource = new WeakMap<object, Map<string, Running>>()

  readonly #fingerprints = new Map<string, string>()
  readonly #asking = new Map<string, Promise<unknown>>()

  /** The one that all stores on the same client share. */
  static of(source: object, schema: string): Running {
    const bySchema = Running.#bySource.get(source) ?? new Map<string, Running>()
    Running.#bySource.set(source, bySchema)
    const running = bySchema.get(schema) ?? new Running()
    bySchema.set(schema, running)
    return running
  }

  /** What an open transaction has to say to a request, if there is one under its identity. */
  refusal({ id, fingerprintsAccepted }: Asking): InProgress | Mismatch | undefined {
    const fingerprint = this.#fingerprints.get(id)
    if (fingerprint === undefined) return undefined
    if (!fingerprintsAccepted.includes(fingerprint)) return { outcome: 'mismatch' }
    return { outcome: 'in_progress', leaseLeftMs: null, ageMs: null }
  }

  /** Notes a transaction as open, until it is closed. */
  open(id: string, fingerprint: string): void {
    this.#fingerprints.set(id, fingerprint)
  }

  /** The transaction that was open is over. */
  close(id: string): void {
    this.#fingerprints.delete(id)
  }

  /** Runs `ask` when nobody else is asking about the same identity. */
  async inTurn<T>(id: string, ask: () => Promise<T>): Promise<T> {
    const before = this.#asking.get(id) ?? Promise.resolve()
    const answer = before.then(ask, ask)
    const settled = answer.catch(() => {})
    this.#asking.set(id, settled)
    void settled.finally(() => {
      if (this.#asking.get(id) === settled) this.#asking.delete(id)
    })
    return answer
  }
}
