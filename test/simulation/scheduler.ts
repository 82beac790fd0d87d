/**
 * The one place where it is decided what happens next. Nothing in a world happens by itself: every
 * timer, message and act of chance is a task here, and one runs after the other.
 *
 * @module
 */

import type { Chance } from '../engine/chance.ts'

/** Something that will happen. */
export interface Task {
  /** When, in milliseconds of the world's time. */
  at: number
  readonly run: () => void
}

/** Tasks that are run in one turn of Node's loop: a turn costs more than a task does. */
const TURN = 64

/** Time and order in one world. */
export class Scheduler {
  now = 0
  steps = 0
  readonly #tasks = new Set<Task>()
  readonly #chance: Chance

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** Has `run` happen after `ms` milliseconds; the task can be moved or dropped until then. */
  after(ms: number, run: () => void): Task {
    const task = { at: this.now + Math.max(0, ms), run }
    this.#tasks.add(task)
    return task
  }

  drop(task: Task): void {
    this.#tasks.delete(task)
  }

  /**
   * Runs one task after the other, each with everything in the processes that follows from it, until
   * `isDone` or the time is up. `isDone` is asked before each of them; what it throws ends it.
   */
  until(isDone: () => boolean, end: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const step = () => {
        if (isOver) return
        try {
          isOver = isDone() || !this.#step(end)
          if (isOver) resolve()
        } catch (error) {
          isOver = true
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      }
      // No promise that could go on by itself is left from one immediate to the next.
      const turn = () => {
        if (isOver) return
        for (let count = 0; count < TURN; count++) setImmediate(step)
        setImmediate(turn)
      }
      turn()
    })
  }

  /** Runs the next task, unless it is due later than `end`. */
  #step(end: number): boolean {
    let at = Number.POSITIVE_INFINITY
    let due: Task[] = []
    for (const task of this.#tasks) {
      if (task.at > at) continue
      if (task.at < at) due = []
      at = task.at
      due.push(task)
    }
    const task = at > end ? undefined : due[Math.floor(this.#chance.fraction() * due.length)]
    this.now = Math.max(this.now, task === undefined ? end : at)
    if (task === undefined) return false
    this.#tasks.delete(task)
    this.steps++
    task.run()
    return true
  }
}

/** Resolves when no promise is left that could go on by itself. */
export function drained(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
