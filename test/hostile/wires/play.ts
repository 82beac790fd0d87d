/**
 * Plays a program and judges it by the rows in the database: the request ran once, whole, or not at all,
 * and the client was told the truth.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deaths } from './deaths.ts'
import { deedAt, isOnPostgres, type Program, type Step, smaller } from './program.ts'
import { type Counts, openWireProxy } from './proxy.ts'
import { makeSubject, type Plant, type Subject } from './subject.ts'
import type { Standing, World } from './world.ts'

/** What a program came to. */
export interface Played {
  /** What was wrong, in words; nothing where all held. */
  readonly violations: readonly string[]
  readonly counts: Readonly<Counts>
}

/** What plays need. */
export interface Stage {
  readonly world: World
  /** Counts what nobody caught. */
  readonly deaths: Deaths
  readonly plant?: Plant | undefined
}

/** An answer to one request; `threw` when the handler's own error came back. */
interface Told {
  readonly body: string
  readonly status: number | 'threw'
  readonly code: string
  /** Of the effect, in a 201. */
  readonly id: string
}

/** Longer than any bound on a wait in the app. */
const STUCK_MS = 30_000
/** How long after the wires are whole a request may be kept from its answer. */
const HEALED_MS = 15_000
const RETRY_MS = 15

/** Plays a program. */
export async function play(program: Program, stage: Stage): Promise<Played> {
  const { world, deaths } = stage
  const url = new URL(isOnPostgres(program.library) ? world.servers.postgres : redisOf(world))
  const proxy = await openWireProxy({
    protocol: isOnPostgres(program.library) ? 'postgres' : 'redis',
    ...{ host: url.hostname, port: Number(url.port || 5432) },
    decide: (moment) => deedAt(program, moment),
    terminate: (pid) => world.terminate(pid),
  })
  const deathsBefore = deaths.errors.length
  const key = randomUUID()
  const session = new Session(key)
  const subject = await makeSubject({ world, program, port: proxy.port, plant: stage.plant })
  try {
    for (const step of program.steps) await session.take(subject, step)
    proxy.heal()
    await session.insist(subject)
    session.judge(program, await world.standing(key))
  } finally {
    await session.bounded('the end of the client', subject.end())
    await proxy.close()
    // Errors that nobody caught come in turns of their own.
    await sleep(0)
  }
  const died = deaths.errors.slice(deathsBefore).map((error) => `the process died: ${text(error)}`)
  return { violations: [...session.violations, ...died], counts: proxy.counts }
}

function redisOf({ servers }: World): string {
  if (servers.redis === undefined) throw new Error('There is no Redis.')
  return servers.redis
}

/** The requests under one key, and what was told to them. */
class Session {
  readonly violations: string[] = []
  readonly #key: string
  readonly #told: Told[] = []
  #last: Told | undefined

  constructor(key: string) {
    this.#key = key
  }

  async take(subject: Subject, step: Step): Promise<void> {
    const bodies: Readonly<Record<Step, readonly string[]>> = {
      once: ['one'],
      'twice at once': ['one', 'one'],
      'another body': ['two'],
      'both bodies at once': ['one', 'two'],
    }
    await Promise.all(bodies[step].map((body) => this.#send(subject, body)))
  }

  /** Sends until there is an answer that does not ask for another try. */
  async insist(subject: Subject): Promise<void> {
    const until = performance.now() + HEALED_MS
    let body = 'one'
    while (performance.now() < until) {
      this.#last = await this.#send(subject, body)
      if (this.#last === undefined || this.#last.status === 201) return
      if (this.#last.code === 'idempotency-outcome-unknown') return
      // The key may be that of the other body.
      if (this.#last.status === 422) body = body === 'one' ? 'two' : 'one'
      await sleep(RETRY_MS)
    }
    this.violations.push(`stuck after healing: ${JSON.stringify(this.#last)}`)
  }

  judge({ mode }: Program, { effects, halves }: Standing): void {
    const [effect] = effects
    if (effects.length > 1) this.violations.push(`${effects.length} effects`)
    const isAtMostOnce = mode === 'lease' && this.#last?.code === 'idempotency-outcome-unknown'
    if (effect === undefined && !isAtMostOnce) this.violations.push('no effect')
    const whole = effects.map(({ id }) => id)
    if (halves.join() !== whole.join()) {
      this.violations.push(`first halves ${whole.join()}, second halves ${halves.join()}`)
    }
    for (const { status, body, id } of this.#told) {
      if (status !== 201) continue
      if (id !== effect?.id || body !== effect.body) {
        this.violations.push(`201 for an effect that is not there: ${body} ${id}`)
      }
    }
    if (mode !== 'lease' && this.#last?.code === 'idempotency-outcome-unknown') {
      this.violations.push('an outcome that is unknown, though the database knows it')
    }
  }

  async #send(subject: Subject, body: string): Promise<Told | undefined> {
    const told = await this.bounded('a request', this.#ask(subject, body))
    if (told === undefined) return undefined
    this.#told.push(told)
    return told
  }

  async #ask(subject: Subject, body: string): Promise<Told | undefined> {
    try {
      const response = await subject.send(this.#key, body)
      // Problems and the handler's own answers.
      const { id = '', type = '' } = (await response.json()) as { id?: string; type?: string }
      const code = /[\w-]*$/.exec(type)?.[0] ?? ''
      if (![201, 409, 422, 503].includes(response.status)) {
        this.violations.push(`${response.status} ${type}`)
      }
      return { body, status: response.status, code, id }
    } catch (error) {
      if (subject.isHandlers(error)) return { body, status: 'threw', code: '', id: '' }
      this.violations.push(`a bare error: ${text(error)}`)
      return undefined
    }
  }

  /** What `work` comes to, which may not take for ever. */
  async bounded<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        this.violations.push(`${what} took more than ${STUCK_MS} ms`)
        resolve(undefined)
      }, STUCK_MS)
    })
    try {
      return await Promise.race([work, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

function text(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The smallest program that still fails, of those that can be had by leaving something out. */
export async function shrink(program: Program, stage: Stage): Promise<Program> {
  for (const candidate of smaller(program)) {
    const { violations } = await play(candidate, stage)
    if (violations.length > 0) return shrink(candidate, stage)
  }
  return program
}
