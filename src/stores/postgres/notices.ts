/**
 * Wakes who waits for a record: those of this process directly, those of others by notification.
 *
 * One connection listens while somebody watches, and a little longer. Whoever watches says so in
 * the table `waiters`, and only then does the end of the work notify.
 *
 * @module
 */

import type { Cancel, Clock } from '../../engine/clock.ts'
import type { Unwatch } from '../../engine/store.ts'
import { Watchers } from '../watchers.ts'
import type { Client, Statement } from './client.ts'
import { pack, unpack } from './record.ts'

/** How long a watcher stays registered; who watches longer registers again half-way. */
const WAIT_MS = 120_000

/** Keeps a burst of waiting requests from opening one connection each. */
const LINGER_MS = 10_000

/** A server that is down is not to be asked in a tight loop. */
const RECONNECT_MS = 1_000

/** What {@link Notices} works with. */
export interface NoticesParts {
  readonly client: Client<unknown>
  readonly channel: string
  /** The statement that registers a waiter. */
  readonly wait: Statement
  readonly clock: Clock
  /** Whether to listen at all; if not, only watchers of this process are woken. */
  readonly listen: boolean
}

/** The watchers of one store. */
export class Notices {
  readonly #parts: NoticesParts
  readonly #canListen: boolean
  readonly #watchers = new Watchers()
  readonly #registered = new Map<string, Promise<unknown>>()
  #listening: Promise<() => void> | undefined
  #cancelTimer: Cancel = () => {}
  #isClosed = false

  constructor(parts: NoticesParts) {
    this.#parts = parts
    this.#canListen = parts.listen && parts.client.listen !== undefined
  }

  /** Calls `wake` when the record may have changed. Never rejects: who waits also polls. */
  async watch(id: string, wake: () => void): Promise<Unwatch> {
    const unwatch = this.#watchers.add(id, wake)
    let cancelRenewal: Cancel = () => {}
    const renew = () => {
      if (this.#isClosed) return
      cancelRenewal = this.#parts.clock.after(WAIT_MS / 2, renew)
      this.#registered.delete(id)
      this.#register(id).catch(() => {})
    }
    if (this.#canListen && !this.#isClosed) {
      cancelRenewal = this.#parts.clock.after(WAIT_MS / 2, renew)
      await Promise.allSettled([this.#listen(), this.#register(id)])
    }
    return () => {
      unwatch()
      cancelRenewal()
      this.#registered.delete(id)
      if (this.#watchers.size === 0) this.#after(LINGER_MS, () => this.#rest())
    }
  }

  /** Wakes the watchers of this process. */
  wake(id: string): void {
    this.#watchers.wake(id)
  }

  close(): void {
    this.#isClosed = true
    this.#cancelTimer()
    this.#stop()
  }

  #listen(): Promise<unknown> | undefined {
    this.#cancelTimer()
    const { client, channel } = this.#parts
    this.#listening ??= client
      .listen?.({
        channel,
        hear: (payload) => this.#watchers.wake(unpack(Buffer.from(payload, 'hex'))),
        lost: () => this.#recover(),
      })
      .catch((error: unknown) => {
        this.#recover()
        throw error
      })
    return this.#listening
  }

  #register(id: string): Promise<unknown> {
    const { client, wait } = this.#parts
    const registered =
      this.#registered.get(id) ?? client.query({ statement: wait, values: [pack(id), WAIT_MS] })
    this.#registered.set(id, registered)
    registered.catch(() => this.#registered.delete(id))
    return registered
  }

  #recover(): void {
    this.#listening = undefined
    this.#after(RECONNECT_MS, () => {
      if (this.#watchers.size > 0) this.#listen()?.catch(() => {})
    })
  }

  #rest(): void {
    if (this.#watchers.size === 0) this.#stop()
  }

  #stop(): void {
    const listening = this.#listening
    this.#listening = undefined
    listening?.then(
      (stop) => stop(),
      () => {},
    )
  }

  #after(ms: number, callback: () => void): void {
    this.#cancelTimer()
    if (!this.#isClosed) this.#cancelTimer = this.#parts.clock.after(ms, callback)
  }
}
