/**
 * Watches the streams that are piped into a response. Node leaves a response open when its source
 * fails; held back, it would keep the record in progress for ever.
 *
 * @module
 */

import { errorMonitor } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'

/** The sources of one response. */
export class NodeSources {
  readonly #response: ServerResponse
  readonly #onFailure: (error: unknown) => void
  readonly #watched = new Map<Readable, () => void>()

  constructor(response: ServerResponse, onFailure: (error: unknown) => void) {
    this.#response = response
    this.#onFailure = onFailure
    response.on('pipe', this.watch).on('unpipe', this.#forget)
  }

  /** Parts the response from its sources. */
  unpipe(): void {
    for (const source of [...this.#watched.keys()]) source.unpipe(this.#response)
  }

  /** Stops watching. */
  stop(): void {
    this.#response.off('pipe', this.watch).off('unpipe', this.#forget)
    for (const source of [...this.#watched.keys()]) this.#forget(source)
  }

  /** Watches a stream. */
  readonly watch = (source: Readable): void => {
    const check = (error?: Error) => {
      // The handler's own listeners come first. One that has given everything is no longer piped.
      process.nextTick(() => this.#watched.has(source) && this.#onFailure(error))
    }
    this.#watched.set(source, check)
    source.on(errorMonitor, check).on('close', check)
  }

  readonly #forget = (source: Readable): void => {
    const check = this.#watched.get(source)
    if (check === undefined) return
    this.#watched.delete(source)
    source.off(errorMonitor, check).off('close', check)
  }
}
