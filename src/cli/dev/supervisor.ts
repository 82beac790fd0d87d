/**
 * Keeps the sample API running: whoever kills it finds it back in a moment, with its records.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import type { RepriseEvent } from '../../engine/events.ts'
import type { Store } from '../../engine/store.ts'
import type { Io } from '../io.ts'
import type { ApiOptions } from './api.ts'
import { answerCalls } from './channel.ts'
import type { Ledger } from './ledger.ts'
import { storeVerbs } from './remote-store.ts'

/** What the supervisor watches over. */
export interface SupervisorParts extends ApiOptions {
  readonly io: Io
  readonly ledger: Ledger
  /** Where records live; asked for with each call, because it may come up later. */
  readonly store: () => Store<unknown>
  /** Told of what the engine of the API tells. */
  readonly onEvent?: (event: RepriseEvent) => void
  /** Told when the API is up, with its port, and when it is gone. */
  readonly onUp?: (port: number) => void
  readonly onDown?: (how: string) => void
}

/** A sample API that comes back. */
export class Supervisor {
  readonly #parts: SupervisorParts
  #port: number
  #child: ChildProcess | undefined
  #isStopping = false
  #fault: Error | undefined
  #watchers: (() => void)[] = []
  #isUp = false
  /** How often it was started. */
  starts = 0

  constructor(parts: SupervisorParts) {
    this.#parts = parts
    this.#port = parts.port
  }

  get port(): number {
    return this.#port
  }

  /** Starts it; resolves when it listens. */
  async start(): Promise<void> {
    this.#spawn()
    await this.up()
  }

  /** Resolves when it listens. @throws Error when it can not be started */
  async up(): Promise<void> {
    while (!this.#isUp) {
      if (this.#fault !== undefined) throw this.#fault
      if (this.#isStopping) return
      await new Promise<void>((resolve) => this.#watchers.push(resolve))
    }
  }

  /** Kills it, as a machine that goes down would. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.kill('SIGKILL')
    await gone
  }

  #spawn(): void {
    const { io, host, leaseMs, ledger } = this.#parts
    const options: ApiOptions = { port: this.#port, host, leaseMs }
    this.starts += 1
    const child = fork(io.program, ['dev-api'], {
      ...{ cwd: io.cwd, serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
      env: { ...io.env, REPRISE_DEV_API: JSON.stringify(options) },
    })
    this.#child = child
    answerCalls(child, {
      ...ledger.verbs,
      ...storeVerbs(this.#parts.store),
      event: (event: RepriseEvent) => this.#parts.onEvent?.(event),
      up: (port: number) => this.#cameUp(port),
      failed: (message: string) => {
        this.#fault = new Error(message)
      },
    })
    child.once('exit', (code, signal) => this.#wentDown(signal ?? `exit code ${String(code)}`))
  }

  #cameUp(port: number): void {
    this.#port = port
    this.#isUp = true
    this.#parts.onUp?.(port)
    this.#tell()
  }

  #wentDown(how: string): void {
    const wasUp = this.#isUp
    this.#isUp = false
    // One that never came up would not come up the next time either.
    if (!wasUp) this.#fault ??= new Error(`The sample API could not be started (${how}).`)
    if (!this.#isStopping && wasUp) {
      this.#parts.onDown?.(how)
      this.#spawn()
    }
    this.#tell()
  }

  #tell(): void {
    const watchers = this.#watchers
    this.#watchers = []
    for (const wake of watchers) wake()
  }
}
