/**
 * How long an operation may take: until its deadline, or until its caller does not want it any more.
 *
 * @module
 */

import type { Clock } from './clock.ts'

/** The time of one operation. */
export interface Life {
  /** Why the operation has to stop; `undefined` while it may go on. */
  readonly reason: 'deadline' | 'aborted' | undefined
  /** What the caller gave as the reason. */
  readonly cause: unknown
  readonly elapsedMs: number
  /** Milliseconds until the deadline. */
  readonly leftMs: number
  /**
   * What `work` gives; `undefined` when the time is up or `ms` milliseconds have passed before, and
   * then it is aborted.
   */
  during<T>(work: (control: AbortController) => Promise<T>, ms: number): Promise<T | undefined>
  /**
   * What `work` gives, such as the app's own function or the journal.
   *
   * @throws Stopped when the time is up before
   */
  until<T>(work: () => Promise<T>): Promise<T>
  /**
   * What the journal gives when the operation is over, for which nobody waits for long.
   *
   * @throws Stopped when that takes more than a second
   */
  lastly<T>(work: () => Promise<T>): Promise<T>
  /** Lets that many milliseconds pass, or less when the time is up. */
  pause(ms: number): Promise<void>
  /** Lets the caller abort what goes on after the operation has its answer. */
  handOver(control: AbortController): void
  /** To be called when the operation is over. */
  end(): void
}

/** The time of an operation was up before something that it waited for. */
export class Stopped extends Error {}

/** How long the journal may take once the operation is over, in milliseconds. */
const LAST_MS = 1_000

/** Begins the time of an operation. */
export function lifeOf(clock: Clock, deadlineMs: number, caller?: AbortSignal): Life {
  const startedAt = clock.now()
  let reason: Life['reason']
  let wake = () => {}
  const stop = (why: Life['reason']) => {
    reason ??= why
    wake()
  }
  const abort = () => stop('aborted')
  const cancel = clock.after(deadlineMs, () => stop('deadline'))
  caller?.addEventListener('abort', abort)
  if (caller?.aborted) abort()

  async function during<T>(work: (control: AbortController) => Promise<T>, ms: number) {
    if (reason !== undefined) return undefined
    const control = new AbortController()
    let cancelWait = () => {}
    const stopped = new Promise<undefined>((resolve) => {
      wake = () => {
        resolve(undefined)
        // Frees the connection, for which nobody waits any more.
        control.abort()
      }
      cancelWait = clock.after(ms, wake)
    })
    try {
      return await Promise.race([work(control), stopped])
    } finally {
      wake = () => {}
      cancelWait()
    }
  }
  return {
    get reason() {
      return reason
    },
    get cause() {
      return caller?.reason
    },
    get elapsedMs() {
      return clock.now() - startedAt
    },
    get leftMs() {
      return startedAt + deadlineMs - clock.now()
    },
    during,
    async until(work) {
      const outcome = await during(async () => ({ value: await work() }), Number.POSITIVE_INFINITY)
      if (outcome === undefined) throw new Stopped()
      return outcome.value
    },
    async lastly(work) {
      let cancelWait = () => {}
      const late = new Promise<never>((_, reject) => {
        cancelWait = clock.after(LAST_MS, () => reject(new Stopped('The journal did not answer.')))
      })
      try {
        return await Promise.race([work(), late])
      } finally {
        cancelWait()
      }
    },
    pause: (ms) => during(() => new Promise<never>(() => {}), ms),
    handOver: (control) =>
      caller?.addEventListener('abort', () => control.abort(caller.reason), { once: true }),
    end() {
      cancel()
      caller?.removeEventListener('abort', abort)
    },
  }
}
