/**
 * Tells every page that watches what changed: one reading for all of them, none while nobody looks.
 * Before each, it is asked again who watches; the stream of a person who may not look any more ends.
 *
 * @module
 */

import { within } from '../engine/bounded.ts'
import type { Cancel, Clock } from '../engine/clock.ts'
import type { Viewer } from './options.ts'
import type { Pulse } from './reads.ts'
import { headers, refusalOf } from './reply.ts'

/** What the stream needs. */
export interface PulseParts {
  readonly clock: Clock
  readonly refreshMs: number
  read(viewer: Viewer): Promise<Pulse>
}

/**
 * How often a page that is told nothing hears that it is still connected, in milliseconds. It is asked
 * who watches at least as often, and that may take as long.
 */
const HEARTBEAT_MS = 15_000
/** When a browser connects again after the stream broke, in milliseconds. */
const RETRY_MS = 3000

/** Says who watches; `undefined` when they may not, or when nobody can tell. */
export type Ask = () => Promise<Viewer | undefined>

interface Watcher {
  viewer: Viewer
  readonly ask: Ask
  /** What it was told last, to say only what is new. */
  told: string
  send(text: string): void
  /** Ends the stream. */
  end(): void
}

/** All who watch. */
export class PulseStream {
  readonly #parts: PulseParts
  readonly #watchers = new Set<Watcher>()
  readonly #everyMs: number
  #cancel: Cancel | undefined
  #number = 0
  #silentMs = 0
  #isClosed = false

  constructor(parts: PulseParts) {
    this.#parts = parts
    this.#everyMs = Math.min(parts.refreshMs, HEARTBEAT_MS)
  }

  /** How many watch. */
  get size(): number {
    return this.#watchers.size
  }

  /** A stream of events for one more page. */
  open(viewer: Viewer, { ask, signal }: { ask: Ask; signal: AbortSignal }): Response {
    const encoder = new TextEncoder()
    let leave = (): void => {}
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const watcher: Watcher = {
          ...{ viewer, ask, told: '' },
          send: (text) => controller.enqueue(encoder.encode(text)),
          end: () => {
            leave()
            controller.close()
          },
        }
        if (this.#isClosed) return watcher.end()
        leave = () => {
          if (!this.#watchers.delete(watcher)) return
          if (this.#watchers.size === 0) this.#rest()
        }
        signal.addEventListener('abort', () => leave(), { once: true })
        watcher.send(`: connected\nretry: ${RETRY_MS}\n\n`)
        this.#watchers.add(watcher)
        if (this.#watchers.size === 1) this.#schedule()
        void this.#tell(watcher)
      },
      cancel: () => leave(),
    })
    const more = { 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' }
    return new Response(stream, { headers: headers('text/event-stream; charset=utf-8', more) })
  }

  /** Ends every stream: a server waits for them before it closes. */
  close(): void {
    this.#isClosed = true
    this.#rest()
    for (const watcher of this.#watchers) watcher.end()
  }

  #rest(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #schedule(): void {
    this.#cancel = this.#parts.clock.after(this.#everyMs, () => {
      void this.#beat().finally(() => {
        if (this.#watchers.size > 0) this.#schedule()
      })
    })
  }

  async #beat(): Promise<void> {
    const before = this.#number
    await Promise.all([...this.#watchers].map((watcher) => this.#tellAgain(watcher)))
    this.#silentMs = this.#number === before ? this.#silentMs + this.#everyMs : 0
    if (this.#silentMs < HEARTBEAT_MS) return
    this.#silentMs = 0
    for (const watcher of this.#watchers) this.#send(watcher, ': still here\n\n')
  }

  /** Tells a watcher who may still look; ends the stream of every other. */
  async #tellAgain(watcher: Watcher): Promise<void> {
    const { clock } = this.#parts
    const work = watcher.ask()
    const viewer = await within(clock, { ms: HEARTBEAT_MS, work, fallback: undefined })
    if (!this.#watchers.has(watcher)) return
    if (viewer === undefined) return watcher.end()
    watcher.viewer = viewer
    await this.#tell(watcher)
  }

  /** Says what is new, or that the store does not answer. */
  async #tell(watcher: Watcher): Promise<void> {
    const [event, data] = await this.#parts.read(watcher.viewer).then(
      (pulse) => ['pulse', pulse] as const,
      (error: unknown) => ['trouble', refusalOf(error)] as const,
    )
    const text = JSON.stringify(data)
    if (text === watcher.told || !this.#watchers.has(watcher)) return
    watcher.told = text
    this.#number += 1
    this.#send(watcher, `id: ${this.#number}\nevent: ${event}\ndata: ${text}\n\n`)
  }

  /** A page that has gone is not told any more. */
  #send(watcher: Watcher, text: string): void {
    try {
      watcher.send(text)
    } catch {
      this.#watchers.delete(watcher)
    }
  }
}
