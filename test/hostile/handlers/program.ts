/**
 * Handlers that behave badly, as data: made by seed, printed for a reader, and made smaller step by
 * step when one of them finds something.
 *
 * @module
 */

import { Chance } from '../../engine/chance.ts'

/** Whether the program waits for a statement, and whether it survives the statement's failure. */
export type Waits = 'awaited' | 'caught' | 'not awaited'

/** One step of a handler. */
export type Step =
  /** A statement on `tx` that adds a row. */
  | { readonly do: 'insert'; readonly waits: Waits }
  /** A statement on `tx` that the database refuses. */
  | { readonly do: 'fail'; readonly waits: Waits }
  /** Stages a job. */
  | { readonly do: 'stage'; readonly waits: Waits }
  | { readonly do: 'pause'; readonly ms: number }
  /** Branches at once: `Promise.all`, `Promise.race` or `Promise.allSettled`. */
  | {
      readonly do: 'all' | 'race' | 'settled'
      readonly waits: Waits
      readonly branches: readonly (readonly Step[])[]
    }
  | { readonly do: 'throw' }
  | { readonly do: 'answer'; readonly status: number; readonly body: Body }
  /** The process cuts the connection: by the response, the socket, or every socket of the server. */
  | { readonly do: 'cut'; readonly what: 'response' | 'socket' | 'connections' }
  /** A statement on a connection of the app's own, beside `tx`. */
  | { readonly do: 'beside' }
  /** A transaction inside the transaction; `left open` is not ended when the handler answers. */
  | {
      readonly do: 'nested'
      readonly end: 'kept' | 'undone' | 'left open'
      readonly steps: readonly Step[]
    }
  /** Keeps `tx` where other handlers of the same app find it. */
  | { readonly do: 'keep' }
  /** A statement on the `tx` that a handler kept last, whichever request it belonged to. */
  | { readonly do: 'use kept' }
  /** Steps from a timer, for which nobody waits. */
  | { readonly do: 'later'; readonly ms: number; readonly steps: readonly Step[] }
  /** A request inside the request, with its own key or with the same one. */
  | { readonly do: 'run'; readonly key: 'own' | 'same' }
  /** Ends the transaction itself, by SQL. */
  | { readonly do: 'end'; readonly how: 'commit' | 'rollback' }

/** How an answer is sent; a large stream is over `bodyBytesMax`. */
export type Body = 'text' | 'raw text' | 'stream' | 'large stream'

/** One request, its handler and its client. */
export interface Program {
  readonly steps: readonly Step[]
  /** How many runs do the steps; every later run adds one row and answers 201. */
  readonly hostileRuns: number
  /** How often the client sends the request at the same time. */
  readonly copies: number
  /** After how many milliseconds the client hangs up, the first time. */
  readonly patienceMs: number | null
  /** A middleware in front that answers by itself when the handler takes longer. */
  readonly front: { readonly status: number; readonly ms: number } | null
}

/** The adapter that a request comes through; `run` calls the engine. */
export type Adapter = 'run' | 'fetch' | 'express' | 'fastify' | 'koa' | 'hono'

/** How requests run. */
export type Mode = 'transaction' | 'first-statement' | 'phases' | 'lease'

/** Programs that run at once in one app. */
export interface Case {
  readonly seed: number
  readonly adapter: Adapter
  readonly mode: Mode
  /** Connections of the app's pool. */
  readonly pool: number
  /** How long the wire to the database takes in each direction, in milliseconds. */
  readonly latencyMs: number
  readonly programs: readonly Program[]
}

/** What a client or ORM can do, so that no program asks for more. */
export interface Abilities {
  readonly adapters: readonly Adapter[]
  readonly modes: readonly Mode[]
  readonly pools: readonly number[]
  readonly latenciesMs: readonly number[]
  readonly nested: boolean
  readonly stage: boolean
  /** Whether `commit` and `rollback` can be sent on `tx`. */
  readonly ends: boolean
  /** Whether another connection can write while the transaction is open. */
  readonly beside: boolean
}

/** The case of a seed. */
export function caseOf(seed: number, abilities: Abilities): Case {
  const chance = new Chance(seed)
  const { adapters, modes, pools, latenciesMs } = abilities
  const mode = among(chance, modes)
  const adapter = mode === 'phases' ? 'run' : among(chance, adapters)
  const pool = among(chance, pools)
  const latencyMs = among(chance, latenciesMs)
  const count = chance.pick(1, 2, 2, 3)
  const isLease = mode === 'lease'
  const can = {
    ...abilities,
    hasTx: !isLease,
    // Whoever holds one connection and waits for a second may wait for itself.
    beside: abilities.beside && (isLease || pool > count),
    stage: abilities.stage && !isLease,
    nested: abilities.nested && !isLease,
    ends: abilities.ends && mode === 'transaction',
    http: adapter !== 'run',
    // Elsewhere the adapter names the operation, and the request inside would be another one.
    sameKey: adapter === 'run' && mode !== 'phases',
    bodies: isLease || mode === 'phases' ? ['text', 'raw text'] : BODIES,
  } satisfies Can
  const programs = Array.from({ length: count }, () => programOf(chance, can, adapter))
  return { seed, adapter, mode, pool, latencyMs, programs }
}

const BODIES: readonly Body[] = ['text', 'text', 'text', 'raw text', 'stream', 'large stream']

interface Can extends Pick<Abilities, 'nested' | 'stage' | 'ends' | 'beside'> {
  readonly hasTx: boolean
  readonly http: boolean
  readonly sameKey: boolean
  readonly bodies: readonly string[]
}

function among<T>(chance: Chance, list: readonly T[]): T {
  const found = list[Math.floor(chance.fraction() * list.length)]
  if (found === undefined) throw new TypeError('There is nothing to choose from.')
  return found
}

function programOf(chance: Chance, can: Can, adapter: Adapter): Program {
  const steps = stepsOf(chance, can, 3)
  const end = endOf(chance, can)
  const after = chance.happens(0.5) ? stepsOf(chance, can, 2) : []
  const mayFront = adapter === 'hono' || adapter === 'koa' || adapter === 'fetch'
  return {
    steps: [...steps, ...end, ...after],
    hostileRuns: chance.pick(1, 1, 1, 2),
    copies: chance.pick(1, 1, 1, 2),
    patienceMs: can.http && chance.happens(0.1) ? Math.floor(chance.fraction() * 8) : null,
    front:
      mayFront && chance.happens(0.2)
        ? { status: chance.pick(202, 408, 408, 503), ms: Math.floor(chance.fraction() * 6) }
        : null,
  }
}

/** How a handler ends: mostly by an answer, perhaps a second one, a throw or a cut. */
function endOf(chance: Chance, can: Can): readonly Step[] {
  const answer = (): Step => ({
    do: 'answer',
    status: chance.pick(201, 201, 201, 201, 402, 500, 503, 408, 429),
    // The list holds bodies only.
    body: among(chance, can.bodies) as Body,
  })
  const dice = chance.fraction()
  if (dice < 0.55) return [answer()]
  if (dice < 0.63) return [answer(), answer()]
  if (dice < 0.71) return [answer(), { do: 'throw' }]
  if (dice < 0.83) return [{ do: 'throw' }]
  if (!can.http) return [answer()]
  const cut: Step = { do: 'cut', what: chance.pick('response', 'socket', 'connections') }
  return chance.happens(0.5) ? [cut, answer()] : [answer(), cut]
}

function waitsOf(chance: Chance): Waits {
  return chance.pick('awaited', 'awaited', 'awaited', 'caught', 'not awaited', 'not awaited')
}

function stepsOf(chance: Chance, can: Can, depth: number): readonly Step[] {
  const count = Math.floor(chance.fraction() * 4)
  return Array.from({ length: count }, () => stepOf(chance, can, depth))
}

/** Steps that a program may have, with how often each comes. */
function stepOf(chance: Chance, can: Can, depth: number): Step {
  const waits = waitsOf(chance)
  const steps = () => stepsOf(chance, can, depth - 1)
  const some = (weight: number, make: () => Step): readonly [number, () => Step] => [weight, make]
  const choices = [
    some(2, () => ({ do: 'pause', ms: Math.floor(chance.fraction() * 5) })),
    some(can.hasTx ? 8 : 0, () => ({ do: 'insert', waits })),
    some(can.hasTx ? 1.5 : 0, () => ({ do: 'fail', waits })),
    some(can.stage ? 1 : 0, () => ({ do: 'stage', waits })),
    some(can.beside ? (can.hasTx ? 0.5 : 5) : 0, () => ({ do: 'beside' })),
    some(depth > 0 ? 3 : 0, () => ({
      ...{ do: chance.pick('all', 'all', 'race', 'settled'), waits },
      branches: Array.from({ length: chance.pick(2, 2, 3) }, () => branchOf(chance, can, depth)),
    })),
    some(depth > 0 ? 1.5 : 0, () => ({
      ...{ do: 'later', ms: Math.floor(chance.fraction() * 12) },
      steps: [...steps(), ...(can.hasTx ? [{ do: 'insert', waits } as const] : [])],
    })),
    some(can.nested && depth > 0 ? 1 : 0, () => ({
      ...{ do: 'nested', end: chance.pick('kept', 'undone', 'left open') },
      steps: steps(),
    })),
    some(can.hasTx ? 0.6 : 0, () => ({ do: 'keep' })),
    some(can.hasTx ? 1 : 0, () => ({ do: 'use kept' })),
    some(can.beside && can.hasTx ? 0.4 : 0, () => ({
      do: 'run',
      key: can.sameKey ? chance.pick('own', 'same') : 'own',
    })),
    some(can.ends ? 0.2 : 0, () => ({ do: 'end', how: chance.pick('commit', 'rollback') })),
  ]
  let dice = chance.fraction() * choices.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, make] of choices) {
    dice -= weight
    if (dice < 0) return make()
  }
  return { do: 'pause', ms: 1 }
}

/** A branch works a while and may fail before or after its statements. */
function branchOf(chance: Chance, can: Can, depth: number): readonly Step[] {
  const steps = stepsOf(chance, can, depth - 1)
  const pause: Step = { do: 'pause', ms: Math.floor(chance.fraction() * 5) }
  const insert: readonly Step[] = can.hasTx ? [{ do: 'insert', waits: 'awaited' }] : []
  const dice = chance.fraction()
  if (dice < 0.3) return [pause, { do: 'throw' }]
  return dice < 0.8 ? [...steps, pause, ...insert] : [...steps, ...insert, { do: 'throw' }]
}

/** The case in words, one step a line. */
export function printCase(play: Case): string {
  const { seed, adapter, mode, pool, latencyMs, programs } = play
  const head = `seed ${seed}: ${adapter}, ${mode}, pool of ${pool}, latency ${latencyMs} ms`
  return [head, ...programs.map((program, index) => printProgram(program, index))].join('\n')
}

function printProgram(program: Program, index: number): string {
  const { steps, hostileRuns, copies, patienceMs, front } = program
  const traits = [
    `first ${hostileRuns} of the runs`,
    copies > 1 ? `sent ${copies} times at once` : '',
    patienceMs === null ? '' : `hangs up after ${patienceMs} ms`,
    front === null ? '' : `a middleware in front answers ${front.status} after ${front.ms} ms`,
  ]
  const head = `  request ${index + 1} (${traits.filter((one) => one !== '').join(', ')})`
  return [head, ...printSteps(steps, '    ')].join('\n')
}

function printSteps(steps: readonly Step[], indent: string): readonly string[] {
  return steps.flatMap((step) => printStep(step, indent))
}

function printStep(step: Step, indent: string): readonly string[] {
  const inner = `${indent}  `
  switch (step.do) {
    case 'insert':
    case 'fail':
    case 'stage':
      return [`${indent}${step.do}, ${step.waits}`]
    case 'pause':
      return [`${indent}pause ${step.ms} ms`]
    case 'answer':
      return [`${indent}answer ${step.status} as ${step.body}`]
    case 'cut':
      return [`${indent}cut the ${step.what}`]
    case 'run':
      return [`${indent}run a request with ${step.key === 'own' ? 'a key of its own' : 'this key'}`]
    case 'end':
      return [`${indent}send ${step.how}`]
    case 'later':
      return [`${indent}later, in ${step.ms} ms`, ...printSteps(step.steps, inner)]
    case 'nested':
      return [`${indent}nested transaction, ${step.end}`, ...printSteps(step.steps, inner)]
    case 'all':
    case 'race':
    case 'settled':
      return [
        `${indent}${step.do}, ${step.waits}`,
        ...step.branches.flatMap((branch) => [
          `${inner}branch`,
          ...printSteps(branch, `${inner}  `),
        ]),
      ]
    default:
      return [`${indent}${step.do}`]
  }
}

/** Cases that are a little smaller than this one, the smallest first. */
export function smallerCases(play: Case): readonly Case[] {
  const { programs } = play
  const without = programs.map((_, index) => ({
    ...play,
    programs: programs.filter((__, other) => other !== index),
  }))
  const changed = programs.flatMap((program, index) =>
    smallerPrograms(program).map((smaller) => ({
      ...play,
      programs: programs.map((one, other) => (other === index ? smaller : one)),
    })),
  )
  return [...without.filter((one) => one.programs.length > 0), ...changed]
}

function smallerPrograms(program: Program): readonly Program[] {
  const traits: Program[] = []
  if (program.copies > 1) traits.push({ ...program, copies: 1 })
  if (program.patienceMs !== null) traits.push({ ...program, patienceMs: null })
  if (program.front !== null) traits.push({ ...program, front: null })
  if (program.hostileRuns > 1) traits.push({ ...program, hostileRuns: 1 })
  return [...traits, ...smallerSteps(program.steps).map((steps) => ({ ...program, steps }))]
}

function smallerSteps(steps: readonly Step[]): readonly (readonly Step[])[] {
  const replaced = (index: number, by: readonly Step[]) => steps.toSpliced(index, 1, ...by)
  return steps.flatMap((step, index) => [
    replaced(index, []),
    ...smallerInside(step).map((inside) => replaced(index, inside)),
  ])
}

/** What a step with others inside it can be replaced by. */
function smallerInside(step: Step): readonly (readonly Step[])[] {
  if (step.do === 'later' || step.do === 'nested') {
    return [step.steps, ...smallerSteps(step.steps).map((steps) => [{ ...step, steps }])]
  }
  if (step.do !== 'all' && step.do !== 'race' && step.do !== 'settled') return []
  const { branches } = step
  return [
    ...branches,
    ...branches.map((_, index) => [{ ...step, branches: branches.toSpliced(index, 1) }]),
    ...branches.flatMap((branch, index) =>
      smallerSteps(branch).map((smaller) => [
        { ...step, branches: branches.toSpliced(index, 1, smaller) },
      ]),
    ),
  ]
}
