/**
 * What `reprise dev` runs: the sample API, the store, workers and the dashboard.
 *
 * @module
 */

import { createAdmin } from '../../admin/create-admin.ts'
import type { RepriseEvent } from '../../engine/events.ts'
import { createReprise } from '../../engine/reprise.ts'
import type { Store } from '../../engine/store.ts'
import { memoryDesk, memoryStore } from '../../stores/memory/index.ts'
import { resolveOptions } from '../../stores/postgres/options.ts'
import { PostgresStore } from '../../stores/postgres/store.ts'
import { combine, keepDuplicates, keepStats } from '../../telemetry/index.ts'
import { createWorkers } from '../../workers/workers.ts'
import type { Context } from '../command.ts'
import { hasPgVariables, openDatabase } from '../database.ts'
import { CliError } from '../errors.ts'
import { type Answered, exchange } from '../http/exchange.ts'
import { type Listening, listen } from '../http/listen.ts'
import { type Opened, Web } from '../operator/web.ts'
import { Ledger } from './ledger.ts'
import { Supervisor } from './supervisor.ts'

/** How long a key is held after a crash, in milliseconds: short, so that one need not wait. */
const LEASE_MS = 5000

/** How often counts and duplicates are brought to the store, in milliseconds. */
const KEPT_MS = 1000

/** How long an answer of the app may take, in milliseconds. */
const TIMEOUT_MS = 30_000

/** The parts, and what the hotkeys do with them. */
export class Playground {
  readonly #context: Context
  readonly #ledger = new Ledger()
  readonly #web: Web
  #store: Store<unknown> | undefined
  #onEvent: (event: RepriseEvent) => void = () => {}
  #supervisor: Supervisor | undefined
  #listening: Listening | undefined
  #connecting: Promise<void> = Promise.resolve()
  #lastKey: string | undefined

  constructor(context: Context) {
    this.#context = context
    this.#web = new Web(context, () => this.#open())
  }

  /** Address to send to. */
  get api(): string {
    const host = this.#context.flags.text('host') ?? '127.0.0.1'
    return this.#app ?? `http://${host}:${this.#supervisor?.port ?? 0}/charges`
  }

  get dashboard(): string {
    return this.#listening?.url ?? ''
  }

  get store(): string {
    return this.#web.opened?.label ?? 'not reached yet'
  }

  /** Rejects when the store can not be opened and is not to be tried again. */
  get failed(): Promise<void> {
    return this.#connecting.then(() => new Promise<void>(() => {}))
  }

  async start(): Promise<void> {
    if (this.#app === undefined) await this.#startApi()
    this.#listening = await listen(this.#context, this.#web.listener, 1)
    this.#connecting = this.#web.connect()
    // Told again by `failed`, when somebody waits for it.
    this.#connecting.catch(() => {})
    if (this.#isInMemory || this.#context.flags.isOn('no-retry')) await this.#connecting
  }

  async stop(): Promise<void> {
    await this.#supervisor?.stop()
    await this.#listening?.close()
    await this.#web.close()
  }

  /** Sends a request under a fresh key. */
  async send(): Promise<void> {
    this.#lastKey = `dev-${this.#context.io.random.token().slice(0, 8)}`
    await this.#exchange(this.#lastKey)
  }

  /** Sends the last request again. */
  async duplicate(): Promise<void> {
    if (this.#lastKey === undefined) return this.send()
    return this.#exchange(this.#lastKey)
  }

  /** Kills the sample API, as a machine that goes down would. */
  kill(): void {
    if (this.#supervisor === undefined) this.#context.out.note('Your app is yours to kill.')
    else this.#supervisor.kill()
  }

  get #app(): string | undefined {
    return this.#context.flags.text('app')
  }

  get #isInMemory(): boolean {
    const { flags, io } = this.#context
    return flags.text('database-url') === undefined && !hasPgVariables(io.env)
  }

  async #startApi(): Promise<void> {
    const { io, out, flags } = this.#context
    const first = flags.whole('port') ?? 0
    // Tried here, so that the process that is killed and comes back has a port of its own.
    const { port, close } = await listen(this.#context, (_, response) => response.end())
    await close()
    this.#supervisor = new Supervisor({
      ...{ io, ledger: this.#ledger, host: flags.text('host') ?? '127.0.0.1', leaseMs: LEASE_MS },
      port: first === 0 ? 0 : port,
      store: () => this.#reached(),
      onEvent: (event) => this.#onEvent(event),
      onDown: (how) =>
        out.note(`the sample API is gone (${how}); it comes back, its keys are kept`),
    })
    await this.#supervisor.start()
  }

  #reached(): Store<unknown> {
    if (this.#store !== undefined) return this.#store
    throw new CliError('REPRISE_E_UNREACHABLE', 'The store is not reached yet.')
  }

  async #open(): Promise<Opened> {
    const { store, label, close } = this.#isInMemory ? inMemory() : await inDatabase(this.#context)
    try {
      await store.ready()
    } catch (error) {
      await close()
      throw error
    }
    const reprise = createReprise({ store, leaseMs: LEASE_MS, replayCache: false })
    const stats = keepStats(store, { everyMs: KEPT_MS })
    const duplicates = keepDuplicates(store, { everyMs: KEPT_MS })
    const workers = createWorkers(reprise, { onEvent: stats.onWorkerEvent })
    this.#onEvent = combine(stats.onEvent, duplicates.onEvent)
    this.#store = store
    workers.start()
    return {
      ...{ admin: createAdmin(reprise), label },
      async close() {
        await workers.stop()
        await Promise.all([stats.close(), duplicates.close()])
        await reprise.close()
        await close()
      },
    }
  }

  async #exchange(key: string): Promise<void> {
    const { io, out } = this.#context
    const answer = await exchange(
      {
        ...{
          url: new URL(this.api),
          method: 'POST',
          body: '{"amount":1200}',
          timeoutMs: TIMEOUT_MS,
        },
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      },
      io,
    )
    out.note(lineOf(key, answer))
  }
}

function lineOf(key: string, { status, isReplayed, tookMs, body, error }: Answered): string {
  if (status === null) return `POST key ${key}: ${error ?? 'no answer'}`
  const marker = isReplayed === true ? ' replayed' : ''
  return `POST key ${key}: ${status}${marker} in ${tookMs} ms  ${body.toString().slice(0, 100)}`
}

interface Opening {
  readonly store: Store<unknown>
  readonly label: string
  close(): Promise<void>
}

function inMemory(): Opening {
  const store = memoryStore({ desk: memoryDesk })
  return { store, label: 'memory; gone when this ends', close: async () => {} }
}

async function inDatabase(context: Context): Promise<Opening> {
  const database = await openDatabase(context)
  const { client, schema } = database
  const store = new PostgresStore(client, resolveOptions({ schema, prepare: false }))
  const label = `${database.label}, schema ${schema}`
  return { store, label, close: () => database.close() }
}
