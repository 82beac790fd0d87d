/**
 * `Demo-Fault`: what goes wrong with a request because it asks for it.
 *
 * Faults belong to the request that carries the header and to no other: a retry without it goes
 * through, and so does what the completer takes up.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { EventListener } from 'reprise'
import type { CrashPoint, Faults } from './context.ts'

/** Where a request may ask for the process to be killed. */
export const CRASH_POINTS: readonly CrashPoint[] = [
  ...(['after-claim', 'before-commit', 'after-commit'] as const),
  ...(['ride_created', 'before-charge', 'after-charge', 'charge_created'] as const),
]

/** The longest `slow=`, in milliseconds. */
const SLOW_MS_MAX = 600_000

/** What one request asks for. */
export interface FaultPlan {
  /** How long the handler takes, in milliseconds. */
  readonly slowMs: number
  readonly failsBefore: boolean
  readonly failsAfter: boolean
  readonly crashes: ReadonlySet<CrashPoint>
  /** Whether the connection is cut before the request arrives, or before its answer does. */
  readonly cut: 'before' | 'after' | undefined
}

/** What a handler fails with when it was asked to. */
class DemoFault extends Error {
  override readonly name = 'DemoFault'
}

/** The faults that there are, for people. */
const FAULTS_HELP = `Known faults, separated by commas: slow=<milliseconds>, fail-before, fail-after, cut-before, cut-after, ${CRASH_POINTS.map((point) => `crash=${point}`).join(', ')}.`

/**
 * Reads the header.
 *
 * @returns the plan, or what is wrong with the header
 */
export function parseFaults(header: string): FaultPlan | { readonly problem: string } {
  const plan = {
    ...{ slowMs: 0, failsBefore: false, failsAfter: false },
    crashes: new Set<CrashPoint>(),
    // Without the type it would be `undefined` for good.
    cut: undefined as FaultPlan['cut'],
  }
  for (const fault of header.split(',').map((part) => part.trim())) {
    const [name, value, ...more] = fault.split('=')
    const point = CRASH_POINTS.find((known) => known === value)
    const ms = /^\d{1,6}$/.test(value ?? '') ? Number(value) : Number.NaN
    if (fault === 'fail-before') plan.failsBefore = true
    else if (fault === 'fail-after') plan.failsAfter = true
    else if (fault === 'cut-before') plan.cut = 'before'
    else if (fault === 'cut-after') plan.cut = 'after'
    else if (name === 'slow' && ms <= SLOW_MS_MAX && more.length === 0) plan.slowMs = ms
    else if (name === 'crash' && point !== undefined && more.length === 0) plan.crashes.add(point)
    else return { problem: `Demo-Fault has no ${JSON.stringify(fault)}. ${FAULTS_HELP}` }
  }
  return plan
}

/**
 * Cuts the connection when the answer is about to be written to it: everything was done, and the
 * client does not hear of it.
 */
export function cutAnswer(socket: Socket): void {
  socket.write = () => {
    socket.destroy()
    return false
  }
}

/** Told of a point, and whether the process is killed there. */
export type PointListener = (point: CrashPoint, isKilled: boolean) => void

/** The faults of the request at hand, found again wherever its code runs. */
export class RequestFaults implements Faults {
  readonly #plans = new AsyncLocalStorage<FaultPlan>()
  readonly #onReached: PointListener | undefined

  /** @param onReached - told of every point that any run reaches, right before it is killed there */
  constructor(onReached?: PointListener) {
    this.#onReached = onReached
  }

  /** Runs a request under its plan. */
  during<T>(plan: FaultPlan, request: () => T): T {
    return this.#plans.run(plan, request)
  }

  reach(point: CrashPoint): void {
    const isKilled = this.#plans.getStore()?.crashes.has(point) === true
    this.#onReached?.(point, isKilled)
    if (isKilled) process.kill(process.pid, 'SIGKILL')
  }

  async before(): Promise<void> {
    const plan = this.#plans.getStore()
    if (plan === undefined) return
    if (plan.slowMs > 0) await delay(plan.slowMs)
    if (plan.failsBefore) throw new DemoFault('Demo-Fault: the handler failed before its effect.')
  }

  after(): void {
    if (this.#plans.getStore()?.failsAfter !== true) return
    throw new DemoFault('Demo-Fault: the handler failed after its effect.')
  }

  /** The engine tells of a run after its answer was stored and before it is sent. */
  readonly onEvent: EventListener = ({ type }) => {
    if (type === 'executed' || type === 'resumed') this.reach('after-commit')
  }
}
