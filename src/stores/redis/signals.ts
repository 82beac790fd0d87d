/**
 * Tells watchers in this process that a record changed in another.
 *
 * Whoever watches sets a mark beside the record; only where there is one do the scripts publish.
 * The mark lapses by itself, so that a watcher that died costs nothing for long.
 *
 * @module
 */

import { type Cancel, type Clock, systemClock } from '../../engine/clock.ts'
import type { Unwatch } from '../../engine/store.ts'
import { Watchers } from '../watchers.ts'
import { type Connection, type Listener, reaching, run } from './client.ts'
import { MARK } from './queries.ts'
import type { KeyNames } from './record.ts'

/** How long a mark stands unless it is renewed. */
const MARK_MS = 30_000
/** Renewed well before it lapses, also if one renewal fails. */
const RENEW_MS = 10_000

/** A record that is being watched. */
interface Watched {
  watchers: number
  /** Settles when messages will come. */
  attended: Promise<void>
  cancelRenewal: Cancel
}

/** The watchers of one store, over one connection that is opened with the first of them. */
export class Signals {
  readonly #connection: Connection
  readonly #names: KeyNames
  readonly #clock: Pick<Clock, 'after'>
  readonly #watchers = new Watchers()
  readonly #watched = new Map<string, Watched>()
  /** Subscriptions being ended; node-redis would mix them up with new ones to the same channel. */
  readonly #leaving = new Map<string, Promise<void>>()
  #listener: Promise<Listener> | undefined

  constructor(connection: Connection, names: KeyNames, clock: Pick<Clock, 'after'> = systemClock) {
    this.#connection = connection
    this.#names = names
    this.#clock = clock
  }

  /** Calls `wake` when the record may have changed. Messages come from when this has resolved. */
  async watch(id: string, wake: () => void): Promise<Unwatch> {
    const watched = this.#watched.get(id) ?? this.#attend(id)
    watched.watchers++
    const remove = this.#watchers.add(id, wake)
    let isWatching = true
    const unwatch = () => {
      if (!isWatching) return
      isWatching = false
      remove()
      this.#leave(id, watched)
    }

    try {
      await reaching(() => watched.attended)
    } catch (error) {
      unwatch()
      throw error
    }
    return unwatch
  }

  /** Ends the connection; whoever still watches gets no more messages. */
  async close(): Promise<void> {
    for (const { cancelRenewal } of this.#watched.values()) cancelRenewal()
    this.#watched.clear()
    const listener = this.#listener
    this.#listener = undefined
    await (await listener?.catch(() => undefined))?.close()
  }

  #attend(id: string): Watched {
    const watched: Watched = {
      watchers: 0,
      attended: this.#subscribe(id).then(() => this.#mark(id, watched)),
      cancelRenewal: () => {},
    }
    this.#watched.set(id, watched)
    return watched
  }

  async #subscribe(id: string): Promise<void> {
    await this.#leaving.get(id)
    const listener = await this.#listen()
    await listener.subscribe(this.#names.record(id))
  }

  /** Sets the mark, and again and again for as long as the record is watched. */
  async #mark(id: string, watched: Watched): Promise<void> {
    await run(this.#connection, MARK, { keys: [this.#names.mark(id)], args: [String(MARK_MS)] })
    if (this.#watched.get(id) !== watched) return
    watched.cancelRenewal = this.#clock.after(RENEW_MS, () => {
      // A mark that could not be renewed only costs messages; waiters poll as well.
      this.#mark(id, watched).catch(() => {})
    })
  }

  #leave(id: string, watched: Watched): void {
    watched.watchers--
    if (watched.watchers > 0 || this.#watched.get(id) !== watched) return
    watched.cancelRenewal()
    this.#watched.delete(id)
    this.#leaving.set(id, this.#unsubscribe(id))
  }

  async #unsubscribe(id: string): Promise<void> {
    try {
      await (await this.#listener)?.unsubscribe(this.#names.record(id))
    } catch {
      // A subscription that stays costs a few needless messages and ends with the connection.
    } finally {
      this.#leaving.delete(id)
    }
  }

  #listen(): Promise<Listener> {
    if (this.#listener !== undefined) return this.#listener
    const listener = this.#connection.listen((channel) => {
      this.#watchers.wake(this.#names.idOf(channel))
    })
    this.#listener = listener
    // The next watcher tries again.
    listener.catch(() => {
      if (this.#listener === listener) this.#listener = undefined
    })
    return listener
  }
}
