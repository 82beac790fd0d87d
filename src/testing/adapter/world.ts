/**
 * One app under test, with a client to ask it and a count of what it did.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { HttpOptions } from '../../adapters/options.ts'
import type { Header } from '../../core/response.ts'
import { type Clock, systemClock } from '../../engine/clock.ts'
import type { RepriseEvent } from '../../engine/events.ts'
import { createReprise, type Reprise } from '../../engine/reprise.ts'
import type { Store } from '../../engine/store.ts'
import { memoryStore } from '../../stores/memory/store.ts'
import type {
  AdapterHarness,
  Deed,
  DeedHandler,
  DeedRequest,
  ParserPlace,
  Served,
} from './harness.ts'
import { type Answer, bytesOf, type Message, Sending } from './raw-client.ts'

/** An app, as far as a check cares. */
export interface WorldSpec {
  /** @default {@link created} */
  readonly deed?: (request: DeedRequest, run: number) => Promise<Deed>
  /** Settings of the route; the caller is the header `X-Caller` unless they say otherwise. */
  readonly options?: Partial<HttpOptions<unknown>>
  /** @default true */
  readonly isProtected?: boolean
  /** @default a memory store */
  readonly store?: Store<unknown>
  /** @default the real one */
  readonly clock?: Clock
  /** @default the first that the framework has of: after, before, none */
  readonly parser?: ParserPlace
  /** @default false */
  readonly isMountedTwice?: boolean
  /** @default no middleware in front answers */
  readonly early?: () => Promise<Deed>
}

/** A request, as far as a check cares. */
export interface Ask extends Partial<Message> {
  /** @default a key of the world's own; `null` sends none */
  readonly key?: string | null
  /** @default 'acct_1'; `null` sends none */
  readonly caller?: string | null
  /** @default 'application/json'; `null` sends none */
  readonly type?: string | null
}

/** The default answer: it says which run made it, so that a second one can not pass for the first. */
export async function created(_request: DeedRequest, run: number): Promise<Deed> {
  return { status: 201, how: 'json', body: { id: 'it_1', run } }
}

/** Longer waits mean that something hangs; nothing waits this long when all is well. */
const PATIENCE_MS = 10_000

/** An app that listens, and what happened in it. */
export class World {
  readonly served: Served
  readonly harness: AdapterHarness
  readonly reprise: Reprise<unknown>
  readonly events: readonly RepriseEvent[]
  readonly #counter: Counter

  constructor(parts: WorldParts) {
    this.served = parts.served
    this.harness = parts.harness
    this.reprise = parts.reprise
    this.events = parts.events
    this.#counter = parts.counter
  }

  /** How often the handler began. */
  get runs(): number {
    return this.#counter.count
  }

  /** Resolves when the handler has begun that often. */
  begun(runs = 1): Promise<void> {
    return patient(this.#counter.reached(runs), `run ${runs} of the handler`)
  }

  /** Sends a request and waits for the whole answer. */
  ask(ask: Ask = {}): Promise<Answer> {
    return patient(this.open(ask).answer, 'the answer')
  }

  /** Sends a request and leaves the connection to the check. */
  open(ask: Ask = {}): Sending {
    return new Sending(this.served.port, bytesOf(messageOf(ask)))
  }

  /** Whole exchanges that run nothing: what was sent before them has been looked at by now. */
  async settle(): Promise<void> {
    for (let count = 0; count < 3; count++) await this.ask({ key: 'null' })
  }

  /** Sends a request that has been answered before and demands that it is a replay. */
  async replay(ask: Ask = {}): Promise<Answer> {
    const runs = this.runs
    const answer = await this.ask(ask)
    assert.equal(answer.header('idempotent-replayed'), 'true', 'The answer is a replay')
    assert.equal(this.runs, runs, 'The handler does not run for a replay')
    return answer
  }
}

/** Serves an app for the time of `check`. */
export async function inWorld(
  harness: AdapterHarness,
  spec: WorldSpec,
  check: (world: World) => Promise<void>,
): Promise<void> {
  const { deed = created, clock = systemClock } = spec
  const counter = new Counter()
  const events: RepriseEvent[] = []
  const handler: DeedHandler = (request) => deed(request, counter.next())
  const engine = createReprise<unknown>({
    store: spec.store ?? memoryStore(),
    // So that what comes again has been in the store.
    replayCache: false,
    clock,
    onEvent: (event) => void events.push(event),
  })
  const served = await harness.serve({
    ...{ deed: handler, reprise: engine, parser: spec.parser ?? parserOf(harness) },
    options: spec.isProtected === false ? null : optionsOf(harness, spec.options ?? {}),
    isMountedTwice: spec.isMountedTwice ?? false,
    early: spec.early,
  })
  try {
    await check(new World({ served, harness, reprise: engine, events, counter }))
  } finally {
    await served.close()
    await engine.close({ graceMs: 0 })
  }
}

/** A check that needs one app. */
export function inOneWorld(
  spec: WorldSpec | ((harness: AdapterHarness) => WorldSpec),
  check: (world: World) => Promise<void>,
): (harness: AdapterHarness) => Promise<void> {
  return (harness) => inWorld(harness, typeof spec === 'function' ? spec(harness) : spec, check)
}

/** The outcome of `work`, or a failed assertion when it hangs. */
export function patient<T>(work: Promise<T>, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.after(PATIENCE_MS, () => {
      reject(new assert.AssertionError({ message: `Nothing came of ${what} in ${PATIENCE_MS} ms` }))
    })
    work.then(resolve, reject).finally(cancel)
  })
}

/** Demands a refusal with this code, as a problem document whose type names no one's domain. */
export function assertProblem(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.header('content-type'), 'application/problem+json')
  const { json } = answer
  assert.equal(json['code'], code)
  assert.equal(json['status'], status)
  assert.ok(typeof json['title'] === 'string' && typeof json['detail'] === 'string')
  assert.ok(typeof json['retryable'] === 'boolean')
  assert.equal(json['type'], `urn:reprise:error:${code}`)
  assert.equal(answer.header('link'), undefined)
  assert.equal(answer.header('idempotent-replayed'), undefined)
  assertUnkept(answer)
}

/** Demands that the answer says that it will not come again. */
export function assertUnkept(answer: Answer): void {
  assert.equal(answer.header('idempotency-stored'), 'false')
}

/** A promise that the check keeps when it pleases. */
export class Gate<T = void> {
  readonly opened: Promise<T>
  #open: (value: T) => void = () => {}

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(value: T): void {
    this.#open(value)
  }
}

interface WorldParts {
  readonly served: Served
  readonly harness: AdapterHarness
  readonly reprise: Reprise<unknown>
  readonly events: readonly RepriseEvent[]
  readonly counter: Counter
}

class Counter {
  count = 0
  readonly #waiting = new Set<() => void>()

  next(): number {
    this.count++
    for (const look of this.#waiting) look()
    return this.count
  }

  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.count < count) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }
}

/** Whether a parser can stand there. */
export function hasParser({ parserPlaces }: AdapterHarness, place: ParserPlace): boolean {
  return parserPlaces === undefined || parserPlaces.includes(place)
}

function parserOf(harness: AdapterHarness): ParserPlace {
  if (hasParser(harness, 'after')) return 'after'
  return hasParser(harness, 'before') ? 'before' : 'none'
}

function optionsOf(
  harness: AdapterHarness,
  options: Partial<HttpOptions<unknown>>,
): HttpOptions<unknown> {
  return { caller: (request) => harness.header(request, 'x-caller') ?? '', ...options }
}

function messageOf(ask: Ask): Message {
  const { key = 'key-1', caller = 'acct_1', body = '{"amount":100}', method = 'POST' } = ask
  const { type = 'application/json' } = ask
  const headers: Header[] = []
  if (key !== null) headers.push(['Idempotency-Key', key])
  if (caller !== null) headers.push(['X-Caller', caller])
  if (type !== null && body.length > 0) headers.push(['Content-Type', type])
  return {
    method,
    path: ask.path ?? '/items/1',
    headers: [...headers, ...(ask.headers ?? [])],
    body,
  }
}
