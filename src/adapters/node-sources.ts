/**
 * Watches the streams that are piped into a response. Node leaves a response open when its source
 * fails; held back, it would keep the record in progress for ever. And hears when the client goes away.
 *
 * @module
 */

import { errorMonitor } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'

/** The sources of one response; who makes it tells it of them. */
export class NodeSources {
  readonly #response: ServerResponse
  readonly #onFailure: (error: unknown) => void
  /** Few responses have any. */
  #watched: Map<Readable, () => void> | undefined

  constructor(response: ServerResponse, onFailure: (error: unknown) => void) {
    this.#response = response
    this.#onFailure = onFailure
  }

  /** Parts the response from its sources. */
  unpipe(): void {
    for (const source of [...(this.#watched?.keys() ?? [])]) source.unpipe(this.#response)
  }

  /** Stops watching. */
  stop(): void {
    if (this.#watched === undefined) return
    for (const source of [...this.#watched.keys()]) this.forget(source)
  }

  /** Watches a stream. */
  watch(source: Readable): void {
    const check = (error?: Error) => {
      // The handler's own listeners come first.
      process.nextTick(() => {
        // A source that has given everything has not failed, even if the response ends later: middleware
        // such as a compressor or a session may hold the end back.
        if (this.#watched?.has(source) && !source.readableEnded) this.#onFailure(error)
      })
    }
    this.#watched ??= new Map()
    this.#watched.set(source, check)
    source.on(errorMonitor, check).on('close', check)
  }

  /** Stops watching a stream. */
  forget(source: Readable): void {
    const check = this.#watched?.get(source)
    if (check === undefined) return
    this.#watched?.delete(source)
    source.off(errorMonitor, check).off('close', check)
  }
}

/** Who listens to a response that is held back. */
export interface Listener {
  readonly sources: NodeSources
  /** The client has gone away. */
  hide(): void
}

/** Where a response has who listens, for functions that all responses share. */
const LISTENING: unique symbol = Symbol('reprise listening')

/** Who listens, and who did before and goes on to. */
interface Listening {
  readonly listener: Listener
  readonly outer: Listening | undefined
}

type Heard = ServerResponse & { [LISTENING]?: Listening | undefined }

/** Listens to a response, before whoever listened so far. */
export function listen(response: Heard, listener: Listener): void {
  const outer = response[LISTENING]
  response[LISTENING] = { listener, outer }
  if (outer !== undefined) return
  response.prependListener('close', onClose).on('pipe', onPipe).on('unpipe', onUnpipe)
}

/** Stops listening. */
export function unlisten(response: Heard, listener: Listener): void {
  response[LISTENING] = without(response[LISTENING], listener)
  if (response[LISTENING] !== undefined) return
  response.off('close', onClose).off('pipe', onPipe).off('unpipe', onUnpipe)
}

function without(listening: Listening | undefined, gone: Listener): Listening | undefined {
  if (listening === undefined) return undefined
  const { listener, outer } = listening
  return listener === gone ? outer : { listener, outer: without(outer, gone) }
}

function* listenersOf(response: Heard): Iterable<Listener> {
  for (let one = response[LISTENING]; one !== undefined; one = one.outer) yield one.listener
}

function onClose(this: Heard): void {
  for (const listener of listenersOf(this)) listener.hide()
}

function onPipe(this: Heard, source: Readable): void {
  for (const { sources } of listenersOf(this)) sources.watch(source)
}

function onUnpipe(this: Heard, source: Readable): void {
  for (const { sources } of listenersOf(this)) sources.forget(source)
}
