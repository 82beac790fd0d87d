import type { CapturedResponse } from '../../src/core/response.ts'
import type { RepriseEvent } from '../../src/engine/events.ts'
import type { RunRequest } from '../../src/engine/job.ts'
import { replayCaching } from '../../src/engine/replay-cache.ts'
import { createReprise, type Reprise, type RepriseOptions } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

/** An engine over a memory store, both on one clock that the test moves. */
export interface World {
  readonly clock: FakeClock
  readonly store: Store
  readonly reprise: Reprise
  readonly events: RepriseEvent[]
  /** Lets the clock go on in small steps, with everything that follows from each. */
  pass(ms: number): Promise<void>
  /** Another process on the same store. */
  process(options?: Partial<RepriseOptions>): Reprise
}

export function createWorld(
  options: Partial<RepriseOptions> = {},
  wrap: (store: Store) => Store = (store) => store,
): World {
  const clock = new FakeClock()
  const store = nearby(memoryStore({ clock }))
  const events: RepriseEvent[] = []
  const process = (own: Partial<RepriseOptions> = {}) =>
    createReprise({
      ...{ store: wrap(store), clock, onEvent: (event) => void events.push(event) },
      ...{ ...options, ...own },
    })
  const pass = async (ms: number) => {
    const step = ms / 20
    for (let i = 0; i < 20; i++) {
      clock.advance(step)
      await turn()
    }
  }
  return { clock, store, reprise: process(), events, pass, process }
}

/** The store with the cache that stores out of the process have. */
export function nearby<S extends Store>(store: S): S {
  return Object.assign(store, { caching: replayCaching })
}

/** Lets every promise that can go on do so. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

export const REQUEST: RunRequest = {
  caller: 'acct_1',
  operation: 'POST /charges',
  key: 'key-1',
  fingerprints: ['f1'],
  origin: { requestId: 'req_1' },
}

export const OTHER_BODY: RunRequest = { ...REQUEST, fingerprints: ['f2'] }

export function response(status = 201, body = '{"id":"ch_1"}'): CapturedResponse {
  return {
    status,
    headers: [['Content-Type', 'application/json']],
    body: new TextEncoder().encode(body),
  }
}

/** A handler whose end the test decides, and that counts its runs. */
export class Effect {
  count = 0
  readonly #ends: ((end: CapturedResponse | Error) => void)[] = []

  readonly handler = (): Promise<CapturedResponse> => {
    this.count++
    return new Promise((resolve, reject) => {
      this.#ends.push((end) => (end instanceof Error ? reject(end) : resolve(end)))
    })
  }

  /** Runs at once, each time with another body. */
  readonly quick = async (): Promise<CapturedResponse> => {
    this.count++
    return response(201, `{"id":"ch_${this.count}"}`)
  }

  /** Ends the run that began `index`-th. */
  end(end: CapturedResponse | Error = response(), index: number = this.#ends.length - 1): void {
    const finish = this.#ends[index]
    if (finish === undefined) throw new Error(`Run ${index} has not begun.`)
    finish(end)
  }
}

export function text({ body }: CapturedResponse): string {
  return new TextDecoder().decode(body)
}
