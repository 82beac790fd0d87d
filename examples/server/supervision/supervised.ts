/**
 * A process that is started again whenever it dies.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Bundle } from './bundle.ts'
import { STOP_MS_MAX } from './child.ts'

/** What is supervised. */
export interface SupervisedSpec {
  /** Name of the process, for people. */
  readonly name: string
  /** What the process runs. */
  readonly bundle: Bundle
  /**
   * Whether another process stands by with everything loaded, so that one that dies is replaced in a
   * moment.
   */
  readonly hasSpare: boolean
  /** Told when a process has died and another one serves. */
  readonly onReplaced?: (died: string, pid: number) => void
}

/** Longest pause between two starts that fail, in milliseconds. */
const PAUSE_MS_MAX = 5000

/** The supervisor's side of one process, and of its successors. */
export class Supervised<Order> {
  readonly #spec: SupervisedSpec
  #order: Order | undefined
  #active: ChildProcess | undefined
  #spare: ChildProcess | undefined
  #restarting: Promise<void> = Promise.resolve()
  #isStopping = false

  /** Begins to load the process; it does nothing until it is told to serve. */
  constructor(spec: SupervisedSpec) {
    this.#spec = spec
    this.#spare = this.#fork()
  }

  /**
   * Has the process serve, and its successors, all under the same order.
   *
   * @throws Error with what the process said when it can not serve at all
   */
  async serve(order: Order): Promise<void> {
    this.#order = order
    await this.#serve()
  }

  /** Ends the process, in its own good time as long as that is short. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const children = [this.#active, this.#spare].filter((child) => child !== undefined)
    await Promise.all(children.map(end))
    await this.#restarting
  }

  /** Has a process serve; fails if it ends before it does. */
  async #serve(): Promise<number> {
    const child = this.#spare ?? this.#fork()
    this.#spare = undefined
    this.#active = child
    if (child.connected) child.send({ order: this.#order })
    await ready(child, this.#spec.name)
    child.once('exit', () => {
      this.#restarting = this.#replace(`process ${child.pid} ${endingOf(child)}`)
    })
    if (this.#spec.hasSpare && !this.#isStopping) this.#spare = this.#fork()
    return child.pid ?? 0
  }

  async #replace(died: string): Promise<void> {
    for (let failures = 0; !this.#isStopping; failures++) {
      try {
        const pid = await this.#serve()
        this.#spec.onReplaced?.(died, pid)
        return
      } catch (error) {
        if (this.#isStopping) return
        console.error(`${this.#spec.name}: ${String(error)}`)
        await delay(Math.min(100 * 2 ** failures, PAUSE_MS_MAX))
      }
    }
  }

  #fork(): ChildProcess {
    const { file, execArgv } = this.#spec.bundle
    const child = fork(file, { execArgv: [...execArgv] })
    // Who sends to a process that has just died learns of it by its exit.
    child.on('error', () => {})
    child.once('exit', () => {
      if (this.#spare === child) this.#spare = undefined
    })
    return child
  }
}

/** Resolves when the process says that it serves. */
async function ready(child: ChildProcess, name: string): Promise<void> {
  let problem = ''
  await new Promise<void>((resolve, reject) => {
    const died = () => reject(new Error(problem || `The ${name} process ${endingOf(child)}.`))
    child.on('message', (message: unknown) => {
      if (message === 'ready') resolve()
      if (typeof message === 'object' && message !== null && 'problem' in message) {
        problem = String(message.problem)
      }
    })
    child.once('exit', died)
    if (child.exitCode !== null || child.signalCode !== null) died()
  })
}

function endingOf({ exitCode, signalCode }: ChildProcess): string {
  return signalCode === null ? `ended with code ${exitCode}` : `was ended by ${signalCode}`
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX + 1000)
  await ended
  clearTimeout(timer)
}
