/**
 * The processes that try mistakes, and the clock that ends those which hang.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Answer, Order } from './lane.ts'

/** A lane did not answer in time, or went away: the mistake has stopped it. */
export class LaneLost extends Error {}

/** How long a new lane may take until it is ready. */
const READY_MS = 120_000

/** One process, made anew when it is lost. */
export class Lane {
  readonly #isRecording: boolean
  #child: ChildProcess | undefined

  constructor(isRecording: boolean) {
    this.#isRecording = isRecording
  }

  /** Sends an order and waits for its answer. */
  async ask(order: Order, patienceMs: number): Promise<Answer> {
    const child = this.#child ?? (await this.#start())
    child.send(order)
    return this.#heard(child, patienceMs)
  }

  /** Ends the process, with its databases. */
  async end(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.send({ kind: 'end' } satisfies Order)
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await gone
    clearTimeout(late)
  }

  async #start(): Promise<ChildProcess> {
    const args = this.#isRecording ? ['--record'] : []
    const child = fork(join(import.meta.dirname, 'lane.ts'), args, {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#child = child
    await this.#heard(child, READY_MS)
    return child
  }

  #heard(child: ChildProcess, patienceMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(late)
        child.off('message', onMessage).off('exit', onExit)
      }
      const onMessage = (answer: Answer) => {
        settle()
        resolve(answer)
      }
      const onExit = () => {
        settle()
        this.#child = undefined
        reject(new LaneLost('The process ended.'))
      }
      const late = setTimeout(() => {
        settle()
        this.#child = undefined
        child.kill('SIGKILL')
        reject(new LaneLost(`No answer within ${patienceMs / 1000} s.`))
      }, patienceMs)
      child.on('message', onMessage).on('exit', onExit)
    })
  }
}
