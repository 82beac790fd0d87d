/**
 * A world: processes with a client each, the journal that they share, and time that stands still until
 * nothing moves any more.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client, Resumed } from '../../../src/client/client.ts'
import type { Clock } from '../../../src/client/clock.ts'
import type { Result } from '../../../src/client/context.ts'
import type { JournalEntry } from '../../../src/client/entry.ts'
import type { ClientEvent } from '../../../src/client/events.ts'
import type { JournalStore } from '../../../src/client/journal.ts'
import { FakeClock } from '../../../src/testing/fake-clock.ts'
import type { Effect, Origins, Scene, Seen } from './origins.ts'
import { type Act, type Fate, type Fault, KINDS, type Plan, type User, VERBS } from './plan.ts'
import { LIVES, type Subject } from './subject.ts'

/** What an app was told of an operation, and what the servers had done by then. */
export interface Told {
  readonly op: string
  readonly how: 'answer' | 'unknown' | 'error'
  readonly error?: unknown
  readonly status?: number
  readonly body?: string
  /** Of an unknown outcome. */
  readonly sent?: boolean
  readonly reason?: string
  readonly effects: number
  readonly requests: number
  /** Calls of `fetch` that can have left. */
  readonly calls: number
  readonly kills: number
}

/** An operation that the app has asked for. */
export interface Asked {
  readonly op: string
  readonly user: User
  readonly origin: number
  readonly hasKey: boolean
  readonly resource: string | null
  readonly process: Process
  readonly startedAt: number
  /** When it has to be over at the latest. */
  endsAt: number
  readonly control: AbortController
  told?: Told
  toldAt?: number
}

/** A client in a process, until that is killed. */
interface Process {
  readonly machine: number
  readonly life: number
  readonly client: Client
  readonly session: { user: User }
  readonly network: { isOn: boolean; readonly callbacks: Set<() => void> }
  readonly death: AbortController
}

const never = () => new Promise<never>(() => {})
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Turns of the event loop in which nothing may move. */
const QUIET_TURNS = 5

/** Milliseconds of real time after which a world in which something moves is stuck. */
const STUCK_MS = 120_000

/** A clock that can be asked when something comes due. */
class SteppedClock extends FakeClock {
  readonly #due = new Map<object, number>()

  override after(ms: number, callback: () => void): () => void {
    const timer = {}
    this.#due.set(timer, this.now() + Math.max(ms, 0))
    const cancel = super.after(ms, () => {
      this.#due.delete(timer)
      callback()
    })
    return () => {
      this.#due.delete(timer)
      cancel()
    }
  }

  /** When the next timer is due. */
  nextDue(): number {
    return Math.min(...this.#due.values())
  }
}

export class World {
  readonly clock = new SteppedClock(Date.now())
  readonly asked: Asked[] = []
  readonly answers: Promise<{
    readonly op: string
    readonly status: number
    readonly body: string
  }>[] = []
  /** Results of `resume()`. */
  readonly resumed: Resumed[] = []
  readonly kills: number[] = []
  /** Operations whose entries were damaged. */
  readonly damaged = new Set<string>()
  /** Files or items that were put into the journal from outside. */
  readonly planted = new Set<string>()
  readonly violations: string[] = []
  readonly processes: Process[] = []
  readonly #plan: Plan
  readonly #origins: Origins
  readonly #subject: Subject
  readonly #scene: Scene
  readonly #folder: string | undefined
  readonly #items = new Map<string, string>()
  #memory: JournalStore
  /** What is under way and will come to an end by itself. */
  readonly #active = new Set<string>()
  readonly #gates: (() => void)[] = []
  readonly #calls = new Map<string, number>()
  readonly #leftCalls = new Map<string, number>()
  readonly #counts = new Map<string, number>()
  readonly #dead = new Set<string>()
  readonly #locks = new Map<string, Process>()
  #isHealed = false
  #moves = 0
  #ids = 0

  constructor(
    plan: Plan,
    { origins, subject, name }: { origins: Origins; subject: Subject; name: string },
  ) {
    this.#plan = plan
    this.#origins = origins
    this.#subject = subject
    this.#folder =
      plan.journal === 'folder' ? mkdtempSync(join(tmpdir(), 'reprise-servers-')) : undefined
    this.#memory = subject[0]?.[0]?.memoryJournal() ?? fail('no subject')
    this.#scene = {
      ...{ name, clock: this.clock, effects: [], seen: [], intrusions: [], keys: new Map() },
      waiting: new Set(),
      fateOf: (op, call) => this.#fateOf(op, Number(call.split('.')[1])),
    }
    origins.scene = this.#scene
  }

  get effects(): readonly Effect[] {
    return this.#scene.effects
  }

  get seen(): readonly Seen[] {
    return this.#scene.seen
  }

  get intrusions(): readonly string[] {
    return this.#scene.intrusions
  }

  /** The journal, as it is. */
  async entries(): Promise<readonly JournalEntry[]> {
    const [process] = this.processes
    if (process === undefined) return []
    return this.#bareJournal(process)
      .list()
      .catch((error: unknown) => {
        this.violations.push(
          `the journal can not be read when everything is healed: ${String(error)}`,
        )
        return []
      })
  }

  async open(): Promise<void> {
    for (let machine = 0; machine < this.#plan.processes; machine++)
      await this.#start(machine, 0, 'alice')
  }

  close(): void {
    for (const { client, death } of this.processes) {
      client.close()
      death.abort()
    }
    this.#origins.scene = undefined
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
  }

  async act(act: Act): Promise<void> {
    const process = this.processes[act.process]
    if (process === undefined) return
    switch (act.do) {
      case 'send':
        this.send(`${act.op}`, process)
        break
      case 'login':
        process.session.user = act.user
        break
      case 'network':
        this.#connect(process, act.isOn)
        break
      case 'resume':
        void this.resume(process)
        break
      case 'advance':
        await this.advance(act.ms)
        break
      case 'abort':
        for (const asked of this.asked) if (asked.op === `${act.op}`) this.#abort(asked)
        break
      case 'kill':
        await this.#kill(process, act.process)
        break
      case 'damage':
        this.#damage(act)
        break
      default:
    }
    if (act.wait === 'turn') await turn()
    if (act.wait === 'quiet') await this.quiet()
  }

  /** Ends every fault: the network is there, and what was only late goes on. */
  async heal(): Promise<void> {
    this.#isHealed = true
    this.#dead.clear()
    for (const open of this.#gates.splice(0)) open()
    for (const process of this.processes) this.#connect(process, true)
    await this.quiet()
  }

  /** Sends an operation of the plan, or one more that meets no fault. */
  send(op: string, process: Process): Asked {
    const {
      origin = 0,
      method = 'POST',
      resource = null,
      deadlineMs = 4_000,
      hasKey = true,
      size = 0,
    } = this.#plan.ops[Number(op)] ?? {}
    const startedAt = this.clock.now()
    const control = new AbortController()
    const asked: Asked = {
      ...{ op, origin, hasKey, resource, process, startedAt, control },
      ...{ user: process.session.user, endsAt: startedAt + deadlineMs },
    }
    this.asked.push(asked)
    const json = { op, pad: 'x'.repeat(size) }
    const { signal } = control
    const sending = process.client.request(this.urlOf(origin, op), {
      ...{ method, json, deadlineMs, signal },
      ...(resource !== null && { resource }),
      ...(!hasKey && { key: null }),
    })
    void sending.then(
      (result) => this.#answered(asked, result),
      (error: unknown) => this.#failed(asked, error),
    )
    return asked
  }

  urlOf(origin: number, op: string): string {
    return `${this.#origins.urls[origin]}/${this.#scene.name}/op/${op}`
  }

  async resume(process: Process): Promise<readonly Resumed[]> {
    const resumed = await process.client.resume().catch(() => [])
    this.resumed.push(...resumed)
    return resumed
  }

  /** Lets time pass from timer to timer, and after each as long as anything moves. */
  async advance(ms: number): Promise<void> {
    const end = this.clock.now() + ms
    while (this.clock.now() < end) {
      this.clock.advance(Math.min(end, this.clock.nextDue()) - this.clock.now())
      await this.quiet()
    }
  }

  /** Lets time pass until a promise is settled; `false` when that takes too long. */
  async until(promise: Promise<unknown>, msMax: number): Promise<boolean> {
    const state = { isOver: false }
    void promise.finally(() => {
      state.isOver = true
    })
    await this.quiet()
    const end = this.clock.now() + msMax
    while (!state.isOver && this.clock.now() < end) {
      await this.advance(Math.max(0.001, Math.min(end, this.clock.nextDue()) - this.clock.now()))
    }
    return state.isOver
  }

  /** Waits until nothing moves any more without time passing. */
  async quiet(): Promise<void> {
    let still = 0
    let moves = this.#moves
    const begunAt = performance.now()
    while (still < QUIET_TURNS) {
      await turn()
      const isBusy = [...this.#active].some((call) => !this.#scene.waiting.has(call))
      still = isBusy || moves !== this.#moves ? 0 : still + 1
      moves = this.#moves
      if (performance.now() - begunAt > STUCK_MS)
        throw new Error(`The world is stuck: ${[...this.#active].join()}`)
    }
  }

  /** Names of the files, or items, that are in the journal. */
  names(): readonly string[] {
    return this.#folder === undefined ? [...this.#items.keys()] : readdirSync(this.#folder)
  }

  async #start(machine: number, life: number, user: User): Promise<void> {
    const { unprotected, redirects, retentionMs, attemptsMax, hello } = this.#plan
    const wasHealed = this.#isHealed
    if (hello) this.#isHealed = true
    const module = this.#subject[machine]?.[life] ?? fail('no life left')
    const session = { user }
    const network: Process['network'] = { isOn: true, callbacks: new Set() }
    const death = new AbortController()
    const made = { machine, life, session, network, death }
    const ofProcess = () => process
    const clock = mortalClock(this.clock, death.signal)
    const client = module.createClient({
      ...{ unprotected, redirects, retentionMs, attemptsMax, clock },
      ...{ attemptTimeoutMs: 1_000, deadlineMs: 2_000, backoffMs: 50, backoffMsMax: 400 },
      random: {
        bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
        fraction: () => 0.5,
      },
      journal: this.#journal(made as Process),
      // The client gives addresses as texts.
      fetch: (input, init) => this.#fetch(ofProcess(), input as string, init),
      caller: () => {
        if (this.#fault('caller') !== undefined) throw new Error('nobody knows who is logged in')
        return session.user
      },
      headers: async () => {
        await this.#meeting('headers', death.signal)
        return { Authorization: `Bearer ${session.user}` }
      },
      connectivity: {
        isOnline: () => network.isOn,
        onOnline(callback) {
          network.callbacks.add(callback)
          return () => void network.callbacks.delete(callback)
        },
      },
      onEvent: (event) => this.#told(event),
    })
    const process: Process = Object.assign(made, { client })
    this.processes[machine] = process
    if (hello) {
      const asked = this.send(`hello-${machine}-${life}`, process)
      await this.quiet()
      this.#isHealed = wasHealed
      if (asked.told?.how !== 'answer')
        this.violations.push(
          `a client that has met no fault got no answer: ${String(asked.told?.error)}`,
        )
    }
  }

  #connect({ network }: Process, isOn: boolean): void {
    network.isOn = isOn
    if (isOn) for (const callback of [...network.callbacks]) callback()
  }

  #abort(asked: Asked): void {
    asked.endsAt = Math.min(asked.endsAt, this.clock.now())
    asked.control.abort(new Error('enough'))
  }

  async #kill(process: Process, at: number): Promise<void> {
    if (process.life + 1 >= LIVES) return
    process.client.close()
    process.death.abort()
    this.kills.push(at)
    for (const [name, holder] of this.#locks) if (holder === process) this.#locks.delete(name)
    if (this.#plan.journal === 'memory' && this.#plan.processes === 1)
      this.#memory = this.#subject[0]?.[0]?.memoryJournal() ?? this.#memory
    await this.#start(at, process.life + 1, process.session.user)
  }

  #damage({ how, share }: Extract<Act, { do: 'damage' }>): void {
    const isFolder = this.#folder !== undefined
    const names = this.names().filter((name) => !isFolder || name.endsWith('.json'))
    const read = (name: string) =>
      isFolder
        ? readFileSync(join(this.#folder ?? '', name), 'utf8')
        : (this.#items.get(name) ?? '')
    const write = (name: string, text: string) => {
      if (isFolder) writeFileSync(join(this.#folder ?? '', name), text)
      else this.#items.set(name, text)
    }
    const fresh = createHash('sha256').update(`${share}`).digest('hex')
    const own = isFolder ? `${fresh}.json` : `reprise:${fresh}`
    if (how === 'truncate') {
      const name = names[Math.floor(share * names.length)]
      const text = name === undefined ? '' : read(name)
      const [, op] = /\/op\/([\w-]+)/.exec(text) ?? []
      if (name === undefined || op === undefined || /"state":"(answered|expired)"/.test(text))
        return
      this.damaged.add(op)
      write(name, text.slice(0, Math.floor(share * (text.length - 1))))
      // Who is at work on an operation writes over its entry, or removes it.
      const isLeft = this.asked.every((asked) => asked.op !== op || asked.told !== undefined)
      if (isLeft) this.planted.add(name)
      return
    }
    if (how === 'left-over') {
      if (!isFolder) return
      const elsewhere = `${fresh}.json.${fresh.slice(0, 12)}-1-${crypto.randomUUID()}.tmp`
      write(elsewhere, '{')
      this.planted.add(elsewhere)
      // No process has this number.
      write(
        `${fresh}.json.${this.#subject[0]?.[0]?.machine}-4194999-${crypto.randomUUID()}.tmp`,
        '{',
      )
      return
    }
    write(own, how === 'garbage' ? '\u0000{"id":' : '{"theme":"dark"}')
    this.planted.add(own)
  }

  #bareJournal({ machine, life }: Pick<Process, 'machine' | 'life'>): JournalStore {
    const module = this.#subject[machine]?.[life] ?? fail('no life left')
    if (this.#folder !== undefined)
      return module.fileJournal({ folder: this.#folder, clock: this.clock })
    if (this.#plan.journal === 'memory') return this.#memory
    return module.localStorageJournal({ storage: storageOf(this.#items) })
  }

  /** The journal of a process: counted, with faults, and silent from its death on. */
  #journal(process: Process): JournalStore {
    const { death, machine, life } = process
    const module = this.#subject[machine]?.[life] ?? fail('no life left')
    const clock = mortalClock(this.clock, death.signal)
    const bare =
      this.#folder === undefined
        ? this.#bareJournal(process)
        : module.fileJournal({ folder: this.#folder, clock })
    const lock: JournalStore['lock'] =
      this.#plan.journal === 'folder'
        ? bare.lock
        : async (name) => {
            if (this.#locks.has(name)) return undefined
            this.#locks.set(name, process)
            return () => void (this.#locks.get(name) === process && this.#locks.delete(name))
          }
    const real = { ...bare, lock }
    const wrapped = VERBS.map((verb) => [
      verb,
      async (argument: never): Promise<unknown> => {
        if (death.signal.aborted) return never()
        // The answer comes after the fault, so that it counts when it fails after it has worked.
        const result = await this.#meeting(verb, death.signal, () => real[verb](argument))
        if (death.signal.aborted) return never()
        if (verb !== 'lock' || typeof result !== 'function') return result
        return async () =>
          death.signal.aborted
            ? never()
            : this.#during(`release ${++this.#ids}`, async () => (result as () => unknown)())
      },
    ])
    return Object.fromEntries(wrapped)
  }

  /** Does something, with the fault that it meets. */
  async #meeting(
    of: Fault['of'],
    death: AbortSignal,
    work: () => Promise<unknown> = async () => {},
  ): Promise<unknown> {
    const kind = this.#fault(of)
    const id = `${of} ${++this.#ids}`
    if (kind === 'hang') return never()
    if (kind === 'late') await new Promise<void>((resolve) => this.#gates.push(resolve))
    if (death.aborted) return never()
    if (kind === 'fail' || kind === 'dead') throw new Error(`${of} fails`)
    const result = await this.#during(id, work)
    if (kind === 'fail-after') throw new Error(`${of} fails`)
    return result
  }

  async #during<T>(id: string, work: () => Promise<T>): Promise<T> {
    this.#active.add(id)
    try {
      return await work()
    } finally {
      this.#active.delete(id)
      this.#moves++
    }
  }

  #fault(of: Fault['of']): Fault['kind'] | undefined {
    this.#moves++
    if (this.#isHealed) return undefined
    const nth = this.#counts.get(of) ?? 0
    this.#counts.set(of, nth + 1)
    const kind = this.#plan.faults.find((fault) => fault.of === of && fault.nth === nth)?.kind
    if (kind === 'dead') this.#dead.add(of)
    return this.#dead.has(of) ? 'dead' : kind
  }

  #fateOf(op: string, nth: number): Fate {
    return (this.#isHealed ? undefined : this.#plan.ops[Number(op)]?.fates[nth]) ?? { kind: 'pass' }
  }

  async #fetch(process: Process, address: string, init: RequestInit = {}): Promise<Response> {
    const { death } = process
    if (death.signal.aborted) return never()
    const [, page, op = ''] = /\/(\w+)\/([\w-]+)$/.exec(address) ?? []
    const nth = this.#calls.get(op) ?? 0
    const isFirstHop = page === 'op'
    if (isFirstHop) this.#calls.set(op, nth + 1)
    const isRefused = isFirstHop && this.#fateOf(op, nth).kind === 'refused'
    if (!isRefused) this.#leftCalls.set(op, (this.#leftCalls.get(op) ?? 0) + 1)
    const call = `${++this.#ids}.${nth}`
    const headers = new Headers(init.headers)
    headers.set('X-Call', call)
    const signals = [death.signal, ...(init.signal ? [init.signal] : [])]
    this.#active.add(call)
    const over = () => {
      this.#active.delete(call)
      this.#moves++
    }
    try {
      const response = await fetch(isRefused ? this.#origins.closed : address, {
        ...init,
        headers,
        signal: AbortSignal.any(signals),
      })
      if (response.status >= 300 && response.status < 400) over()
      else {
        const read = response.arrayBuffer.bind(response)
        response.arrayBuffer = () => read().finally(over)
        const text = response.text.bind(response)
        response.text = () => text().finally(over)
      }
      return death.signal.aborted ? await never() : response
    } catch (error) {
      over()
      if (death.signal.aborted) return never()
      throw error
    }
  }

  #told({ type, url, response, key }: ClientEvent): void {
    this.#moves++
    if (type !== 'answered' || response === undefined || key === null) return
    const op = opOf(url)
    const { status } = response
    this.answers.push(
      response
        .clone()
        .text()
        .then((body) => ({ op, status, body })),
    )
  }

  async #answered(asked: Asked, { response, key }: Result): Promise<void> {
    const { status } = response
    const told = this.#now(asked)
    this.#settle(asked, { ...told, how: 'answer', status })
    // Without a key the answer is still on its way, and may be cut.
    const body = await response.text().catch(() => undefined)
    if (body === undefined) return
    // What the app was told is known only when it has read the answer.
    this.#settle(asked, { ...told, how: 'answer', status, body })
    if (key !== null && !asked.hasKey) this.violations.push(`${asked.op} got a key`)
  }

  #failed(asked: Asked, error: unknown): void {
    const { name, sent, reason } = Object(error) as {
      name?: string
      sent?: boolean
      reason?: string
    }
    const told = this.#now(asked)
    const isUnknown = name === 'OutcomeUnknownError'
    this.#settle(
      asked,
      isUnknown
        ? { ...told, how: 'unknown', error, sent: sent === true, reason: `${reason}` }
        : { ...told, how: 'error', error },
    )
  }

  #now({ op }: Asked): Omit<Told, 'how'> {
    const requests = this.seen.filter((one) => one.op === op).length
    const effects = this.effects.filter((one) => one.op === op).length
    return { op, requests, effects, calls: this.#leftCalls.get(op) ?? 0, kills: this.kills.length }
  }

  #settle(asked: Asked, told: Told): void {
    this.#moves++
    if (asked.process.death.signal.aborted) return
    asked.told = told
    asked.toldAt ??= this.clock.now()
  }
}

/** The operation of an address. */
export function opOf(url: string): string {
  return /\/([\w-]+)$/.exec(url)?.[1] ?? ''
}

/** The kind of the origin with that number. */
export function kindOf(origin: number) {
  return KINDS[origin] ?? 'honours'
}

/** Time as a process sees it that may be killed. */
function mortalClock(clock: FakeClock, death: AbortSignal): Clock {
  return {
    now: () => clock.now(),
    unix: () => clock.unix(),
    after: (ms, callback) => clock.after(ms, () => death.aborted || callback()),
  }
}

function storageOf(items: Map<string, string>): Storage {
  return {
    get length() {
      return items.size
    },
    key: (at) => [...items.keys()][at] ?? null,
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => void items.set(name, value),
    removeItem: (name) => void items.delete(name),
    clear: () => items.clear(),
  }
}

function fail(message: string): never {
  throw new Error(message)
}
