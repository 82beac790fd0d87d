/**
 * Does what a program says, and notes for each statement what the handler was told about it.
 *
 * @module
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { Stage } from '../../../src/engine/stage.ts'
import type { Body, Program, Step, Waits } from './program.ts'
import type { EffectRow, Tx, World } from './world.ts'

/** A statement or a job that a run sent on its transaction. */
export interface Sent extends EffectRow {
  readonly kind: 'row' | 'job'
  state: 'pending' | 'done' | 'failed'
  error: unknown
  /** Whether a nested transaction may have taken it back. */
  maybe: boolean
}

/** An answer as the program gave it. */
interface GivenAnswer {
  readonly status: number
  /** Whether it was written past the framework. */
  readonly isRaw: boolean
  /** Whether the handler had ended. */
  readonly isLate: boolean
}

/** What is known of one call of the handler. */
export interface RunLog {
  readonly key: string
  readonly id: string
  readonly isHostile: boolean
  readonly sent: Sent[]
  /** Whether the program has sent `commit` or `rollback` itself. */
  isEndedByItself: boolean
  /** What it answered, in order. */
  readonly answers: GivenAnswer[]
  hasThrown: boolean
  hasCut: boolean
  /** Whether it had a transaction inside the transaction, which has a number of its own. */
  hasNested: boolean
  /** When it began, was first answered, and came to an end, by one counter for all. */
  readonly beganAt: number
  answeredAt: number | undefined
  settledAt: number | undefined
}

/** How a program reaches its client and its transaction. */
export interface Scene {
  /** None in lease mode. */
  readonly tx: Tx | undefined
  readonly stage: Stage | undefined
  answer(status: number, body: Body, text: string): void
  cut(what: 'response' | 'socket' | 'connections'): void
}

/** What programs of one world share. */
export interface Shared {
  readonly world: Pick<World, 'statements' | 'reprise' | 'beside'>
  /** What a handler kept last. */
  kept: { readonly tx: Tx; readonly log: RunLog } | undefined
}

/** The program's own failure. */
class Thrown extends Error {
  override readonly name = 'Thrown'
}

/** How often a middleware in front answers one client, so that the client hears of the handler too. */
const FRONTED_MAX = 3

let ticks = 0
let runs = 0
let prefix = ''

/** Names the runs of this process, where other processes have runs as well. */
export function nameRuns(name: string): void {
  prefix = `${name}-`
}

/** One request: its program, all of its runs, and what still goes on of them. */
export class Play {
  readonly key: string
  readonly program: Program
  readonly logs: RunLog[] = []
  /** The runs of the request inside the request. */
  readonly innerLogs: RunLog[] = []
  readonly #shared: Shared
  /** What goes on, and what it is. */
  readonly #pending = new Map<Promise<unknown>, string>()
  #fronted = 0

  constructor(key: string, program: Program, shared: Shared) {
    this.key = key
    this.program = program
    this.#shared = shared
  }

  /** The middleware in front, for as long as it answers by itself: never more than three times. */
  front(): Program['front'] {
    if (this.logs.length >= this.program.hostileRuns || this.#fronted >= FRONTED_MAX) return null
    this.#fronted++
    return this.program.front
  }

  /** The key of the request inside the request. */
  get innerKey(): string {
    return `${this.key}-inner`
  }

  /**
   * Notes a run.
   *
   * @param mayBeHostile - whether it does what the program says, while there were few enough runs
   */
  begin(mayBeHostile = true): RunLog {
    const log = newLog(this.key, mayBeHostile && this.logs.length < this.program.hostileRuns)
    this.logs.push(log)
    return log
  }

  /** Runs the handler: the program, or one row and a 201 when there were enough hostile runs. */
  handle(log: RunLog, scene: Scene): Promise<void> {
    return this.#track(`the handler of ${log.id}`, this.#handle(log, scene))
  }

  async #handle(log: RunLog, scene: Scene): Promise<void> {
    const told: Scene = {
      ...scene,
      answer(status, body, text) {
        const isLate = log.settledAt !== undefined
        log.answers.push({ status, isRaw: body === 'raw text', isLate })
        log.answeredAt ??= ++ticks
        scene.answer(status, body, text)
      },
      cut(what) {
        log.hasCut = true
        scene.cut(what)
      },
    }
    try {
      if (!log.isHostile) await this.#behave(log, told)
      else await this.#perform(this.program.steps, { ...told, log })
      if (log.answers.length === 0) throw new Thrown('The program answered nothing.')
    } catch (error) {
      log.hasThrown = true
      throw error
    } finally {
      log.settledAt = ++ticks
    }
  }

  async #behave(log: RunLog, scene: Scene): Promise<void> {
    const acting = { ...scene, log }
    if (scene.tx !== undefined) await this.#insert(acting, scene.tx, 'awaited')
    scene.answer(201, 'text', log.id)
  }

  async #perform(steps: readonly Step[], acting: Acting): Promise<void> {
    for (const step of steps) await this.#step(step, acting)
  }

  #step(step: Step, acting: Acting): Promise<unknown> | undefined {
    const { tx, log } = acting
    switch (step.do) {
      case 'insert':
        return tx && this.#insert(acting, tx, step.waits)
      case 'fail':
        return tx && waited(this.#fail(log, tx), step.waits)
      case 'stage':
        return waited(this.#stage(acting), step.waits)
      case 'pause':
        return delay(step.ms)
      case 'throw':
        throw new Thrown('The program throws.')
      case 'answer':
        acting.answer(step.status, step.body, log.id)
        return undefined
      case 'cut':
        acting.cut(step.what)
        return undefined
      case 'beside': {
        const row = { key: this.key, run: log.id, name: 'beside' }
        return this.#track(`beside, of ${log.id}`, this.#shared.world.beside(row))
      }
      case 'later':
        void this.#later(step, acting).catch(noop)
        return undefined
      case 'all':
      case 'race':
      case 'settled':
        return waited(this.#branches(step, acting), step.waits)
      case 'nested':
        return this.#nested(step, acting)
      case 'keep':
        if (tx !== undefined) this.#shared.kept = { tx, log }
        return undefined
      case 'use kept': {
        const { kept } = this.#shared
        return kept && waited(this.#send(kept.log, kept.tx, 'kept'), 'caught')
      }
      case 'run':
        return waited(this.#track(`a request inside of ${log.id}`, this.#run(step.key)), 'caught')
      case 'end':
        log.isEndedByItself = true
        return tx && waited(this.#script(log, tx, step.how), 'caught')
    }
  }

  get #statements(): World['statements'] {
    return this.#shared.world.statements
  }

  #script(log: RunLog, tx: Tx, text: string): Promise<unknown> {
    const send = () => this.#statements.script?.(tx, text) ?? Promise.resolve()
    return this.#track(`${text}, of ${log.id}`, sending(send))
  }

  #fail(log: RunLog, tx: Tx): Promise<unknown> {
    const failing = sending(() => this.#statements.fail(tx))
    return this.#track(`a statement that fails, of ${log.id}`, failing)
  }

  #later(step: Extract<Step, { readonly do: 'later' }>, acting: Acting): Promise<unknown> {
    const performed = delay(step.ms).then(() => this.#perform(step.steps, acting))
    return this.#track(`what ${acting.log.id} does later`, performed)
  }

  #insert({ log }: Acting, tx: Tx, waits: Waits): Promise<unknown> {
    return waited(this.#send(log, tx, 'row'), waits)
  }

  /** Sends a statement, and notes what comes of it. */
  #send(log: RunLog, tx: Tx, word: string): Promise<unknown> {
    const name = `${word} ${log.sent.length + 1}`
    const row = { key: log.key, run: log.id, name }
    return this.#note({ log, row, kind: 'row' }, () => this.#statements.insert(tx, row))
  }

  #stage({ log, stage }: Acting): Promise<unknown> {
    if (stage === undefined) return Promise.resolve()
    const row = { key: log.key, run: log.id, name: `job ${log.sent.length + 1}` }
    return this.#note({ log, row, kind: 'job' }, () => stage(row.name, { run: row.run }))
  }

  #note(
    { log, row, kind }: { log: RunLog; row: EffectRow; kind: Sent['kind'] },
    send: () => PromiseLike<unknown>,
  ): Promise<unknown> {
    const sent: Sent = {
      ...row,
      kind,
      state: 'pending',
      error: undefined,
      maybe: nestings(log) > 0,
    }
    log.sent.push(sent)
    const told = sending(send).then(
      () => {
        sent.state = 'done'
        sent.maybe ||= nestings(log) > 0
      },
      (error: unknown) => {
        sent.state = 'failed'
        sent.error = error
        throw error
      },
    )
    return this.#track(`${row.name} of ${log.id}`, told)
  }

  #branches(
    step: Extract<Step, { readonly do: 'all' | 'race' | 'settled' }>,
    acting: Acting,
  ): Promise<unknown> {
    const { id } = acting.log
    const branches = step.branches.map((branch) =>
      this.#track(`a branch of ${id}`, this.#perform(branch, acting)),
    )
    return this.#track(`the branches of ${id}`, together(step.do, branches))
  }

  #nested(
    step: Extract<Step, { readonly do: 'nested' }>,
    acting: Acting,
  ): Promise<unknown> | undefined {
    const { tx, log } = acting
    const { nested } = this.#statements
    if (tx === undefined || nested === undefined) return undefined
    log.hasNested = true
    nesting.set(log, nestings(log) + 1)
    for (const sent of log.sent) if (sent.state === 'pending') sent.maybe = true
    let begun = noop
    const inside = new Promise<void>((resolve) => {
      begun = resolve
    })
    const work = async (inner: Tx) => {
      await this.#perform(step.steps, { ...acting, tx: inner })
      begun()
      if (step.end === 'undone') throw new Thrown('The nested transaction is to be undone.')
      if (step.end === 'left open') await delay(15)
    }
    const ended = this.#track(
      `a nested transaction of ${log.id}`,
      sending(() => nested(tx, work)),
    ).finally(() => {
      // What is sent while one is open may be inside of it, so nobody can say whether it is kept.
      for (const sent of log.sent) if (sent.state === 'pending') sent.maybe = true
      nesting.set(log, nestings(log) - 1)
    })
    ended.catch(noop)
    if (step.end === 'left open') return Promise.race([inside, ended.catch(noop)])
    return step.end === 'undone' ? ended.catch(noop) : ended
  }

  async #run(which: 'own' | 'same'): Promise<unknown> {
    const { reprise, statements } = this.#shared.world
    const key = which === 'own' ? this.innerKey : this.key
    return reprise.runInTransaction(requestOf(key), async ({ tx }) => {
      const log = newLog(key, false)
      if (which === 'same') this.logs.push(log)
      else this.innerLogs.push(log)
      const row = { key, run: log.id, name: 'row 1' }
      await this.#note({ log, row, kind: 'row' }, () => statements.insert(tx, row))
      log.answeredAt = log.settledAt = ++ticks
      return { status: 201, headers: [], body: new TextEncoder().encode(log.id) }
    })
  }

  /** What goes on of the request. */
  get pending(): readonly string[] {
    return [...this.#pending.values()]
  }

  /** Resolves when nothing of the request goes on, or with what still does after `ms`. */
  async quiet(ms: number): Promise<readonly string[]> {
    const until = performance.now() + ms
    while (this.#pending.size > 0) {
      const left = until - performance.now()
      if (left <= 0) break
      await Promise.race([Promise.allSettled(this.#pending.keys()), delay(left)])
    }
    return this.pending
  }

  #track<T>(what: string, going: Promise<T>): Promise<T> {
    const over = going.then(noop, noop).finally(() => this.#pending.delete(over))
    this.#pending.set(over, what)
    return going
  }
}

/** Waits for branches as a program does. */
async function together(
  how: 'all' | 'race' | 'settled',
  branches: readonly Promise<unknown>[],
): Promise<unknown> {
  if (how === 'all') return Promise.all(branches)
  return how === 'race' ? Promise.race(branches) : Promise.allSettled(branches)
}

interface Acting extends Scene {
  readonly log: RunLog
}

/** The request inside a request, and that of the adapter `run`. */
export function requestOf(key: string): {
  readonly caller: string
  readonly operation: string
  readonly key: string
  readonly fingerprints: readonly string[]
} {
  return { caller: 'anna', operation: 'POST /effects', key, fingerprints: ['f'] }
}

function newLog(key: string, isHostile: boolean): RunLog {
  return {
    ...{ key, id: `run-${prefix}${++runs}`, isHostile, sent: [], answers: [] },
    ...{ isEndedByItself: false, hasThrown: false, hasCut: false, hasNested: false },
    ...{ beganAt: ++ticks, answeredAt: undefined, settledAt: undefined },
  }
}

/** How many nested transactions are open in a run. */
const nesting = new WeakMap<RunLog, number>()

function nestings(log: RunLog): number {
  return nesting.get(log) ?? 0
}

/** Calls what may throw at once, or give something that is only sent when it is awaited. */
async function sending(send: () => PromiseLike<unknown>): Promise<unknown> {
  return await send()
}

function waited(answer: Promise<unknown>, waits: Waits): Promise<unknown> {
  if (waits === 'awaited') return answer
  const caught = answer.catch(noop)
  return waits === 'caught' ? caught : Promise.resolve()
}

function noop(): void {}
