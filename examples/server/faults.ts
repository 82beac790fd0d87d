/**
 * `Demo-Fault`: what goes wrong with a request because it asks for it.
 *
 * Faults belong to the request that carries the header and to no other: a retry without it goes
 * through, and so does what the completer takes up.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
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
  /** Whether the payment provider refuses connections, for this request. */
  readonly isProviderDown: boolean
}

/** What a handler fails with when it was asked to. */
class DemoFault extends Error {
  override readonly name = 'DemoFault'
}

/** The faults that there are, for people. */
const FAULTS_HELP = `Known faults, separated by commas: slow=<milliseconds>, fail-before, fail-after, cut-before, cut-after, provider-down, ${CRASH_POINTS.map((point) => `crash=${point}`).join(', ')}.`

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
    isProviderDown: false,
  }
  for (const fault of header.split(',').map((part) => part.trim())) {
    const [name, value, ...more] = fault.split('=')
    const point = CRASH_POINTS.find((known) => known === value)
    const ms = /^\d{1,6}$/.test(value ?? '') ? Number(value) : Number.NaN
    if (fault === 'fail-before') plan.failsBefore = true
    else if (fault === 'fail-after') plan.failsAfter = true
    else if (fault === 'cut-before') plan.cut = 'before'
    else if (fault === 'cut-after') plan.cut = 'after'
    else if (fault === 'provider-down') plan.isProviderDown = true
    else if (name === 'slow' && ms <= SLOW_MS_MAX && more.length === 0) plan.slowMs = ms
    else if (name === 'crash' && point !== undefined && more.length === 0) plan.crashes.add(point)
    else return { problem: `Demo-Fault has no ${JSON.stringify(fault)}. ${FAULTS_HELP}` }
  }
  return plan
}

/** Told of a point, and whether the process is killed there. */
export type PointListener = (point: CrashPoint, isKilled: boolean) => void

/** Told of a fault that is carried out, right before it is. */
export type FaultListener = (key: string, fault: string) => void

/** Who is told of what. */
export interface FaultListeners {
  /** Told of every point that any run reaches, right before it is killed there. */
  readonly onReached?: PointListener | undefined
  /** Told of every fault of a request with a key. */
  readonly onCarriedOut?: FaultListener | undefined
}

/** A request with faults. */
interface Faulty {
  readonly plan: FaultPlan
  /** The key that it came with. */
  readonly key: string | undefined
}

/** The faults of the request at hand, found again wherever its code runs. */
export class RequestFaults implements Faults {
  readonly #requests = new AsyncLocalStorage<Faulty>()
  readonly #listeners: FaultListeners

  constructor(listeners: FaultListeners = {}) {
    this.#listeners = listeners
  }

  /** Runs a request under its plan. */
  during<T>(plan: FaultPlan, request: () => T, key?: string): T {
    return this.#requests.run({ plan, key }, request)
  }

  reach(point: CrashPoint): void {
    const isKilled = this.#plan?.crashes.has(point) === true
    this.#listeners.onReached?.(point, isKilled)
    if (!isKilled) return
    this.#carryOut(`crash=${point}`)
    process.kill(process.pid, 'SIGKILL')
  }

  async before(): Promise<void> {
    const plan = this.#plan
    if (plan === undefined) return
    if (plan.slowMs > 0) {
      this.#carryOut(`slow=${plan.slowMs}`)
      await delay(plan.slowMs)
    }
    if (!plan.failsBefore) return
    this.#carryOut('fail-before')
    throw new DemoFault('Demo-Fault: the handler failed before its effect.')
  }

  after(): void {
    if (this.#plan?.failsAfter !== true) return
    this.#carryOut('fail-after')
    throw new DemoFault('Demo-Fault: the handler failed after its effect.')
  }

  /** Cuts the connection of the request at hand, so that it is as if it had not arrived. */
  cutNow(socket: Socket): void {
    this.#carryOut('cut-before')
    socket.destroy()
  }

  /**
   * Cuts the connection of the request at hand when its answer is about to be written: everything was
   * done, and the client does not hear of it.
   */
  cutLater(response: ServerResponse, socket: Socket): void {
    const key = this.#requests.getStore()?.key
    let isCut = false
    socket.write = () => {
      // Who is told to wait has lost nothing: the answer is still to come.
      if (!isCut && response.statusCode !== 409) this.#carryOut('cut-after', key)
      isCut = true
      socket.destroy()
      return false
    }
  }

  /** Whether the payment provider is down for the request at hand; it is asked when it is called. */
  isProviderDown(): boolean {
    if (this.#plan?.isProviderDown !== true) return false
    this.#carryOut('provider-down')
    return true
  }

  /** The engine tells of a run after its answer was stored and before it is sent. */
  readonly onEvent: EventListener = ({ type }) => {
    if (type === 'executed' || type === 'resumed') this.reach('after-commit')
  }

  get #plan(): FaultPlan | undefined {
    return this.#requests.getStore()?.plan
  }

  #carryOut(fault: string, key = this.#requests.getStore()?.key): void {
    if (key !== undefined) this.#listeners.onCarriedOut?.(key, fault)
  }
}
