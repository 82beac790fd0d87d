/**
 * A loop that runs a worker again and again: at once while there is work, else after a pause or when
 * it is woken.
 *
 * @module
 */

import type { Cancel, Clock, Random } from '../engine/clock.ts'

/** What a run of a worker came to. */
export interface Ran {
  /** How many things it did. */
  readonly done: number
  /** How many of these were records that it put before a person. */
  readonly buried?: number
  /** When there is something to do again, in milliseconds, if that is known. */
  readonly nextMs?: number | undefined
  /** What ended it before it was through: to the same effect as throwing, with what was done. */
  readonly error?: Error
}

/** After so long, in milliseconds, a run may end early: then orders are heard, and it goes on. */
const TURN_MS = 10_000

/** What a loop needs. */
export interface ServiceParts {
  readonly clock: Clock
  readonly random: Random
  /** Longest pause between two runs, in milliseconds. */
  readonly everyMs: number
  /** One run; may end early once it is told that it is enough for now. */
  readonly run: (isEnough: () => boolean) => Promise<Ran>
  /** Told of every run: how long it took, what it did, what it threw. */
  readonly onRun: (run: {
    readonly tookMs: number
    readonly done: number
    readonly buried: number
    readonly error: unknown
  }) => Promise<void>
  /** Calls `wake` when there may be something to do. Best effort. */
  readonly watch?: ((wake: () => void) => Promise<() => void>) | undefined
}

/** Nodes that were started together do not run together. */
const JITTER = 0.2

/** One worker. Starting and stopping any number of times comes to the same; the last call counts. */
export class Service {
  readonly #parts: ServiceParts
  #loop: Loop | undefined
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  get isRunning(): boolean {
    return this.#loop !== undefined && !this.#loop.isStopping
  }

  /** Starts the loop. */
  start(): void {
    if (this.isRunning) return
    const before = this.#loop?.ended
    const loop = new Loop()
    this.#loop = loop
    loop.ended = Promise.resolve(before).then(() => this.#turn(loop))
  }

  /** Ends the loop; resolves when the run at hand is over. */
  async stop(): Promise<void> {
    this.#loop?.stop()
    await this.#loop?.ended
    await this.#running
  }

  /**
   * One run, after the one at hand; gives how many things it did.
   *
   * @throws what the run throws
   */
  async runOnce(): Promise<number> {
    return (await this.#inTurn(() => false)).done
  }

  async #turn(loop: Loop): Promise<void> {
    if (loop.isStopping) return
    const unwatch = await this.#parts.watch?.(() => loop.news()).catch(() => undefined)
    while (!loop.isStopping) {
      loop.hasNews = false
      // What it throws was told to `onRun`; the loop goes on, after a pause whatever the news.
      const until = this.#parts.clock.now() + TURN_MS
      const isEnough = () => loop.isStopping || this.#parts.clock.now() >= until
      const ran = await this.#inTurn(isEnough).catch(() => undefined)
      if (ran === undefined) await this.#rest(loop, { isDeaf: true })
      else if (ran.done === 0 && !loop.hasNews) await this.#rest(loop, ran)
    }
    unwatch?.()
  }

  /** One run at a time. */
  #inTurn(isEnough: () => boolean): Promise<Ran> {
    const ran = this.#running.then(() => this.#run(isEnough))
    this.#running = ran.catch(() => {})
    return ran
  }

  async #run(isEnough: () => boolean): Promise<Ran> {
    const { clock, run, onRun } = this.#parts
    const startedAt = clock.now()
    const tell = ({ done, buried = 0 }: Ran, error: unknown) =>
      onRun({ tookMs: clock.now() - startedAt, done, buried, error }).catch(() => {})
    let ran: Ran = { done: 0 }
    try {
      ran = await run(isEnough)
      if (ran.error !== undefined) throw ran.error
    } catch (error) {
      await tell(ran, error)
      throw error
    }
    await tell(ran, undefined)
    return ran
  }

  async #rest(
    loop: Loop,
    { nextMs = Number.POSITIVE_INFINITY, isDeaf = false }: Partial<Ran> & { isDeaf?: boolean },
  ): Promise<void> {
    const { clock, random, everyMs } = this.#parts
    const pauseMs = everyMs * (1 - JITTER * random.fraction())
    let cancel: Cancel = () => {}
    const timer = new Promise<void>((resolve) => {
      cancel = clock.after(Math.max(1, Math.min(pauseMs, nextMs)), resolve)
    })
    await loop.rest(timer, isDeaf)
    cancel()
  }
}

/** The loop from one start to the next stop. */
class Loop {
  ended: Promise<void> = Promise.resolve()
  isStopping = false
  hasNews = false
  #wake = () => {}
  #isDeaf = false

  stop(): void {
    this.isStopping = true
    this.#wake()
  }

  news(): void {
    this.hasNews = true
    if (!this.#isDeaf) this.#wake()
  }

  /** Until the timer, the stop or, unless deaf, news. */
  async rest(timer: Promise<void>, isDeaf: boolean): Promise<void> {
    if (this.isStopping) return
    this.#isDeaf = isDeaf
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    await Promise.race([timer, woken])
    this.#isDeaf = false
  }
}
