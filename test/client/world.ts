/**
 * A client whose time, chance and server the test holds in its hands.
 *
 * @module
 */

import { onTestFinished } from 'vitest'
import { type Client, createClient } from '../../src/client/client.ts'
import type { Connectivity } from '../../src/client/connectivity.ts'
import type { ClientEvent, ClientEventType } from '../../src/client/events.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

/** What the server does with one request. */
export type Step =
  /** Answers. */
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** The connection breaks: before, or in the middle of the answer. */
  | 'cut'
  | 'cut-body'
  /** Nothing comes. */
  | 'hang'

/** A request as the server sees it. */
export interface Seen {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | null
  readonly key: string | null
}

/** When the clock of each test starts. */
export const START = 1_700_000_000_000

/** An answer that is taken for one: it echoes a key. */
export const done: Step = { status: 201, headers: { 'Idempotency-Key': 'k' }, body: '{"id":1}' }
export const inProgress: Step = {
  status: 409,
  headers: { 'Retry-After': '2' },
  body: '{"code":"idempotency-in-progress"}',
}

export interface World {
  readonly client: Client
  readonly clock: FakeClock
  readonly seen: readonly Seen[]
  readonly events: readonly ClientEvent[]
  /** The pauses that were made, in milliseconds. */
  pauses(type?: ClientEventType): readonly (number | undefined)[]
  /** Resolves when that many requests have come. */
  arrived(count: number): Promise<void>
  /** Puts the network on or off. */
  network: { isOn: boolean; set(isOn: boolean): void }
}

/** A world in which the steps are taken one after the other; the last one for ever. */
export function world(steps: readonly Step[], options: ClientOptions = {}): World {
  const clock = new FakeClock(START)
  const seen: Seen[] = []
  const events: ClientEvent[] = []
  let wake = () => {}

  const send: typeof fetch = async (input, init = {}) => {
    const headers = new Headers(init.headers)
    const body = init.body ? new Uint8Array(await new Response(init.body).arrayBuffer()) : null
    const key = headers.get(options.dialect?.header ?? 'Idempotency-Key')
    // The client gives addresses as texts.
    seen.push({ url: input as string, method: init.method ?? 'GET', headers, body, key })
    wake()
    return answer(steps[Math.min(seen.length, steps.length) - 1] ?? 'hang')
  }
  const onEvent = (event: ClientEvent) => {
    events.push(event)
    // Pauses take no time here: the clock is put on when the client has begun to wait.
    const { delayMs } = event
    if (delayMs !== undefined) setImmediate(() => clock.advance(delayMs))
    options.onEvent?.(event)
  }
  const network = networkOf()
  const client = createClient({
    ...{ baseUrl: 'https://api.example/v1/', fetch: send, clock, connectivity: network },
    random: {
      bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
      fraction: () => 0.5,
    },
    ...options,
    onEvent,
  })
  onTestFinished(() => client.close())
  return {
    ...{ client, clock, seen, events, network },
    pauses: (type = 'retry') =>
      events.filter((event) => event.type === type).map(({ delayMs }) => delayMs),
    async arrived(count) {
      while (seen.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

function answer(step: Step): Response | Promise<Response> {
  if (step === 'cut') throw new TypeError('fetch failed', { cause: new Error('ECONNRESET') })
  if (step === 'hang') return new Promise<never>(() => {})
  if (step === 'cut-body') {
    const start = (controller: ReadableStreamDefaultController) => {
      controller.enqueue(new TextEncoder().encode('{"id"'))
      controller.error(new TypeError('terminated'))
    }
    return new Response(new ReadableStream({ start }), { status: 201 })
  }
  const { status, headers = {}, body = null } = step
  return new Response(body, { status, headers })
}

function networkOf(): Connectivity & World['network'] {
  const callbacks = new Set<() => void>()
  return {
    isOn: true,
    set(isOn) {
      this.isOn = isOn
      if (isOn) for (const callback of callbacks) callback()
    },
    isOnline() {
      return this.isOn
    },
    onOnline(callback) {
      callbacks.add(callback)
      return () => void callbacks.delete(callback)
    },
  }
}

/** What a promise was rejected with. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown.')
}
