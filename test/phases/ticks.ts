/**
 * The crash-point counter: every exchange of the process with the outside is three ticks, before it,
 * once it was sent, and when the reply is there. Between two ticks nothing leaves the process, so that
 * dying anywhere in between leaves what dying at the first of them leaves.
 */

import { callbackify, promisify } from 'node:util'
import pg from 'pg'

/** What is done at a tick. */
export type AtTick = 'kill' | 'pause'

interface Watch {
  readonly ticks: string[]
  readonly at: number | string
  readonly act: AtTick
}

let watch: Watch | undefined
let resume: () => void = () => {}
let paused: (tick: string) => void = () => {}

/** Counts from now on; the process dies or pauses at tick `at`, from 1 or by name; 0 for never. */
export function countTicks(at: number | string, act: AtTick): readonly string[] {
  const ticks: string[] = []
  watch = { ticks, at, act }
  return ticks
}

/** Counts no more. */
export function stopCounting(): void {
  watch = undefined
}

/** Calls `listener` when the process pauses; {@link unpause} lets it go on. */
export function onPause(listener: (tick: string) => void): void {
  paused = listener
}

/** Lets what pauses go on. */
export function unpause(): void {
  resume()
}

/** One tick; those of the same name are told apart by their number. */
function tick(kind: string): Promise<void> | undefined {
  if (watch === undefined) return undefined
  const { ticks, at, act } = watch
  const name = `${kind} ${ticks.filter((earlier) => earlier.startsWith(`${kind} `)).length + 1}`
  ticks.push(name)
  if (at !== ticks.length && at !== name) return undefined
  if (act === 'kill') process.kill(process.pid, 'SIGKILL')
  watch = undefined
  return new Promise((resolve) => {
    resume = resolve
    paused(name)
  })
}

/** Makes the three ticks around one exchange. */
export async function ticking<T>(name: string, exchange: () => Promise<T>): Promise<T> {
  await tick(`before ${name}`)
  const reply = exchange()
  // Looked at below; a failure meanwhile is nobody's yet.
  reply.catch(() => {})
  await tick(`sent ${name}`)
  try {
    return await reply
  } finally {
    await tick(`after ${name}`)
  }
}

type Exchange = (...values: unknown[]) => unknown

/** Has every statement of every connection in this process tick. */
export function tickOnPostgres(): void {
  const { prototype } = pg.Client
  Object.assign(prototype, {
    query: ticksAround(prototype.query as Exchange, statementName),
    connect: ticksAround(prototype.connect as Exchange, () => 'connect'),
  })
}

/** The same exchange with its ticks: with a callback, or with a promise. */
function ticksAround(original: Exchange, nameOf: (first: unknown) => string): Exchange {
  const exchange: (this: pg.Client, ...values: unknown[]) => Promise<unknown> = promisify(original)
  return function wrapped(this: pg.Client, ...values: unknown[]) {
    const callback = values.at(-1)
    const given = typeof callback === 'function' ? values.slice(0, -1) : values
    const run = () => ticking(nameOf(given[0]), () => exchange.call(this, ...given))
    if (given === values) return run()
    return callbackify(run)(callback as (error: Error | null, result?: unknown) => void)
  }
}

function statementName(query: unknown): string {
  const { name, text = query } = query as { name?: string; text?: unknown }
  if (name !== undefined) return name.replace(/_[0-9a-f]{12}$/, '')
  return String(text).trim().split(/\s+/).slice(0, 3).join(' ')
}
