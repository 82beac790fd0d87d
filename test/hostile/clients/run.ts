/**
 * Plays a plan against a real server and judges it by what the handler did and saw, and by what the
 * client that asks again is told.
 *
 * @module
 */

import { setTimeout as delay } from 'node:timers/promises'
import { createReprise } from '../../../src/engine/reprise.ts'
import type { Store } from '../../../src/engine/store.ts'
import { APPS, type App } from './apps.ts'
import { differenceOf, type Looks } from './looks.ts'
import { described, isHttp2, type Moment, type Plan, planOf, smallerPlans } from './plan.ts'
import { boundariesOf, keyOf, noteOf, requestBytes, typeOf, type Visit } from './request.ts'
import { Scene, Stage } from './scene.ts'
import { type Received, SocketVisitor, StreamVisitor, turns, type Visitor } from './visitor.ts'

/** Longer than anything takes that is not stuck; shorter than a lease and a wait together. */
const PATIENCE_MS = 20_000
const LEASE_MS = 10_000

/** Moments from which on the request is under way whatever becomes of its client. */
const UNDER_WAY: ReadonlySet<Moment> = new Set([
  ...(['slow', 'claim', 'claimed', 'handler', 'part', 'finish', 'answer'] as const),
])
/** Moments after which a handler could see that its client has gone. */
const LOOKED_AT: ReadonlySet<Moment> = new Set(['claim', 'claimed', 'handler', 'part'])

/** What came of a plan. */
export interface Outcome {
  readonly plan: Plan
  /** Empty where all is well. */
  readonly violations: readonly string[]
}

/** Apps that plans are played on; each is started when it is first needed. */
export class Playground {
  readonly #openStore: () => Store
  readonly #apps = new Map<string, Promise<{ app: App; stage: Stage }>>()
  /** What handlers see whose client stays, by what it depends on. */
  readonly #controls = new Map<string, Promise<readonly Looks[]>>()
  readonly #faults: string[] = []
  #keys = 0

  /** @param openStore - makes a store; each app has its own */
  constructor(openStore: () => Store) {
    this.#openStore = openStore
    process.on('unhandledRejection', this.#note).on('uncaughtExceptionMonitor', this.#note)
    process.on('warning', this.#noteLeak)
  }

  /** Plays the plan of a seed. */
  playSeed(seed: number): Promise<Outcome> {
    return this.play(planOf(seed, boundariesOf))
  }

  /** Plays a plan. */
  async play(plan: Plan): Promise<Outcome> {
    const violations: string[] = []
    this.#faults.length = 0
    const effects = await this.#perform(plan, violations).catch((error: unknown) => {
      violations.push(error instanceof Error ? error.message : String(error))
    })
    const [effect] = effects ?? []
    if (LOOKED_AT.has(plan.moment) && plan.departure !== 'stays' && effect?.visit === 'first') {
      const control = await this.#control(plan)
      for (const [at, looks] of effect.looks.entries()) {
        violations.push(...differenceOf(looks, control[at] ?? {}))
      }
    }
    violations.push(...this.#faults.splice(0))
    return { plan, violations }
  }

  /** The smallest plan found that fails as this one does. */
  async shrink(failed: Outcome): Promise<Outcome> {
    for (const plan of smallerPlans(failed.plan)) {
      const outcome = await this.play(plan)
      if (isAlike(outcome, failed)) return this.shrink(outcome)
    }
    return failed
  }

  /** Stops all servers. */
  async close(): Promise<void> {
    process.off('unhandledRejection', this.#note).off('uncaughtExceptionMonitor', this.#note)
    process.off('warning', this.#noteLeak)
    for (const opened of this.#apps.values()) await (await opened).app.close()
  }

  readonly #note = (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error)
    this.#faults.push(`The process was told: ${message}`)
  }

  /** Listeners that pile up on a connection. */
  readonly #noteLeak = (warning: Error) => {
    if (warning.name === 'MaxListenersExceededWarning') this.#note(warning)
  }

  async #perform(plan: Plan, violations: string[]) {
    const { app, stage } = await this.#appOf(plan)
    const key = keyOf(++this.#keys)
    const visitor = openVisitor(plan, app.port, { key, visit: 'first' })
    try {
      if (plan.isReused && visitor instanceof SocketVisitor) await this.#warm(visitor, plan, stage)
      const scene = new Scene(plan)
      stage.scene = scene
      await visit(visitor, { plan, scene, key })
      violations.push(...(await judge({ plan, scene, key, visitor, port: app.port })))
      return scene.effects
    } finally {
      visitor.end()
    }
  }

  /** Has the connection serve another key first. */
  async #warm(visitor: SocketVisitor, plan: Plan, stage: Stage): Promise<void> {
    const small: Plan = { ...plan, answer: 'small', moment: 'sending', noteLength: 1 }
    stage.scene = new Scene(small)
    await visitor.send(requestBytes(small, keyOf(++this.#keys), 'before'))
    const answer = await patient(visitor.answer(), 'an answer to the request before')
    if (answer?.status !== 201) throw new Error(`The request before got ${answer?.status}.`)
    visitor.forget()
  }

  #appOf(plan: Plan): Promise<{ app: App; stage: Stage }> {
    const { app, parser, place, reading } = plan
    const name = [app, parser, place, ...(parser === 'stream' ? [reading] : [])].join()
    const known = this.#apps.get(name)
    if (known !== undefined) return known
    const opened = this.#open(plan)
    this.#apps.set(name, opened)
    return opened
  }

  async #open(plan: Plan): Promise<{ app: App; stage: Stage }> {
    const stage = new Stage()
    const store = stage.holding(this.#openStore())
    const reprise = createReprise({ store, leaseMs: LEASE_MS })
    return { app: await APPS[plan.app]({ reprise, stage, plan }), stage }
  }

  #control(plan: Plan): Promise<readonly Looks[]> {
    const { app, parser, place, reading, answer, moment } = plan
    const name = [app, parser, place, reading, answer, moment].join()
    const known = this.#controls.get(name)
    if (known !== undefined) return known
    const calm: Plan = { ...plan, departure: 'stays', retries: 'later', noteLength: 20 }
    const seen = this.#perform({ ...calm, isReused: false, isChunked: false }, []).then(
      ([effect]) => effect?.looks ?? [],
    )
    this.#controls.set(name, seen)
    return seen
  }
}

function openVisitor(
  plan: Plan,
  port: number,
  { key, visit }: { key: string; visit: Visit },
): SocketVisitor | StreamVisitor {
  if (!isHttp2(plan.app)) return new SocketVisitor(port)
  const type = typeOf(plan.parser)
  return new StreamVisitor(port, {
    ...{ 'idempotency-key': key, 'x-visit': visit, 'content-type': type },
  })
}

/** What the client does until it has left. */
async function visit(
  visitor: Visitor,
  { plan, scene, key }: { plan: Plan; scene: Scene; key: string },
): Promise<void> {
  const bytes = requestBytes(plan, key, 'first')
  const { moment, departure, byte } = plan
  if (moment === 'sending' || moment === 'slow') {
    const isSlow = moment === 'slow'
    await visitor.send(bytes.subarray(0, byte), false)
    await turns()
    if (isSlow) await visitor.send(bytes.subarray(byte), true)
    else await visitor.leave(departure)
    await turns()
    return
  }
  await visitor.send(bytes, true)
  if (moment === 'answer') {
    await patient(visitor.receivedBytes(byte), 'the bytes of the answer')
    await visitor.leave(departure)
    return
  }
  await patient(scene.reached.opened, `the moment ${moment}`)
  await visitor.leave(departure)
  await turns()
  scene.goOn.open()
}

interface Case {
  readonly plan: Plan
  readonly scene: Scene
  readonly key: string
  readonly visitor: Visitor
  readonly port: number
}

async function judge(own: Case): Promise<readonly string[]> {
  const { plan, scene } = own
  const { effects } = scene
  const violations: string[] = []
  if (isCut(plan)) {
    await turns()
    if (effects.length > 0) violations.push('The handler ran for a request that was cut off')
  }
  const isUnderWay = UNDER_WAY.has(plan.moment)
  if (plan.retries === 'later' && isUnderWay)
    await patient(scene.stored.opened, 'the first request')
  violations.push(...(await judgeFirst(own)))
  const again = await askAgain(own)
  if (effects.length !== 1) violations.push(`There are ${effects.length} effects, not 1`)
  for (const { note } of effects) {
    if (note !== noteOf(own.key, plan.noteLength)) {
      violations.push(`The handler saw ${summary(note)} for the body`)
    }
  }
  if (isUnderWay && effects[0]?.visit !== 'first') violations.push('The first request did not run')
  if (again?.status !== 201)
    violations.push(`The retry got ${again?.status}: ${summary(again?.text)}`)
  else if (again.text !== effects[0]?.text) {
    violations.push(`The retry got another answer: ${summary(again.text)}`)
  }
  return violations
}

/** Whether the server has not got all of the request; over HTTP/2 its end is a frame of its own. */
function isCut({ app, moment, byte, ...plan }: Plan): boolean {
  if (moment !== 'sending') return false
  return isHttp2(app) || byte < boundariesOf({ ...plan, app, moment, byte }).total
}

/** What the first client was told, as far as it listened. */
async function judgeFirst({ plan, scene, visitor }: Case): Promise<readonly string[]> {
  if (!UNDER_WAY.has(plan.moment)) return []
  const { status } = visitor
  if (status !== undefined && status !== 201) return [`The first client was told ${status}`]
  // Hono answers when all middleware has returned, and Node ends a connection that its client has ended.
  const isServed = !isHttp2(plan.app) && plan.app !== 'hono'
  const listens = plan.departure === 'stays' || (plan.departure === 'half-close' && isServed)
  if (!listens) return []
  const answer = await patient(visitor.answer(), 'the answer to the first client')
  if (answer?.status === 201 && answer.text === scene.effects[0]?.text) return []
  return [`The first client still listened and got ${answer?.status}: ${summary(answer?.text)}`]
}

/** Asks on a fresh connection until there is a definite answer. */
async function askAgain({ plan, key, port }: Case): Promise<Received | undefined> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    const visitor = openVisitor(plan, port, { key, visit: 'again' })
    try {
      await visitor.send(requestBytes(plan, key, 'again'), true)
      const answer = await patient(visitor.answer(), 'the answer to the retry')
      const isInProgress = answer?.status === 409
      if (!isInProgress || performance.now() > until) return answer
    } finally {
      visitor.end()
    }
  }
}

async function patient<T>(work: Promise<T>, what: string): Promise<T> {
  const ended = new AbortController()
  const late = delay(PATIENCE_MS, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`Nothing came of ${what}`)
  })
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    ended.abort()
  }
}

function summary(text: string | undefined): string {
  if (text === undefined) return 'nothing'
  return text.length > 200 ? `${text.slice(0, 200)}… (${text.length})` : text
}

/** The same first violation, whatever the numbers in it are. */
function isAlike(one: Outcome, other: Outcome): boolean {
  const kindOf = ({ violations: [first] }: Outcome) => first?.replaceAll(/\d+|n+/g, '')
  return one.violations.length > 0 && kindOf(one) === kindOf(other)
}

/** A failure, with what plays it again. */
export function reportOf(seed: number, { plan, violations }: Outcome): string {
  const lines = violations.map((violation) => `  ${violation}`)
  return [`seed ${seed}: ${described(plan)}`, ...lines].join('\n')
}
