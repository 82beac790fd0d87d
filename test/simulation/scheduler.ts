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
  readonly label: string
  readonly run: () => void
}

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
  after(ms: number, label: string, run: () => void): Task {
    const task = { at: this.now + Math.max(0, ms), label, run }
    this.#tasks.add(task)
    return task
  }

  drop(task: Task): void {
    this.#tasks.delete(task)
  }

  /** When the next task is due; `undefined` when there is none. */
  get nextAt(): number | undefined {
    let next: number | undefined
    for (const { at } of this.#tasks) if (next === undefined || at < next) next = at
    return next
  }

  /** How many tasks there are. */
  get size(): number {
    return this.#tasks.size
  }

  /** Runs the next task, and everything in the processes that follows from it. */
  async step(): Promise<boolean> {
    const next = this.nextAt
    if (next === undefined) return false
    const due = [...this.#tasks].filter(({ at }) => at === next)
    const task = due[Math.floor(this.#chance.fraction() * due.length)]
    if (task === undefined) return false
    this.#tasks.delete(task)
    this.now = Math.max(this.now, task.at)
    this.steps++
    task.run()
    await drained()
    return true
  }
}

/** Resolves when no promise is left that could go on by itself. */
export function drained(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
