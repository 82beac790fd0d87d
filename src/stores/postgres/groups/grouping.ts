/**
 * Verbs that are asked for while enough of their kind are on their way go together, as one statement:
 * one round trip, one commit and one wait for the disk for all of them. Who asks while it is quiet
 * waits for nobody.
 *
 * @module
 */

import { STORE_UNAVAILABLE } from '../../../core/error-table.ts'
import { isRepriseError, RepriseError } from '../../../core/errors.ts'
import type { Clock } from '../../../engine/clock.ts'

/** So many statements of a kind are under way before the next ones wait for each other. */
const FLYING_MAX = 4
/** At most so many go together. */
const GROUP_MAX = 50
/**
 * After so long a statement that has not answered holds up nobody any more, in milliseconds: its
 * connection may be gone without a word, and others may be fine.
 */
const HELD_UP_MS = 100

/** How a verb is carried out. */
export interface GroupingOptions<Asked, Answer> {
  readonly clock: Clock
  /** Whether it may go with others. */
  isGroupable(asked: Asked): boolean
  one(asked: Asked): Promise<Answer>
  /** Carries out all or, by failing, none; what gets no answer is asked for by itself. */
  many(asked: readonly Asked[]): Promise<readonly (Answer | undefined)[]>
}

/** One verb, grouped. */
export class Grouping<Asked, Answer> {
  readonly #options: GroupingOptions<Asked, Answer>
  readonly #waiting: Waiting<Asked, Answer>[] = []
  #flying = 0

  constructor(options: GroupingOptions<Asked, Answer>) {
    this.#options = options
  }

  /** Carries out the verb, alone or with others. */
  ask(asked: Asked): Promise<Answer> {
    const { one, isGroupable } = this.#options
    if (!isGroupable(asked)) return one(asked)
    if (this.#flying < FLYING_MAX) return this.#fly(() => one(asked))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject })
    })
  }

  /** Runs a statement that others wait for until it ends, or has taken too long. */
  async #fly<T>(run: () => Promise<T>): Promise<T> {
    this.#flying++
    let isCounted = true
    const leave = (): void => {
      if (!isCounted) return
      isCounted = false
      this.#flying--
      const group = this.#waiting.splice(0, GROUP_MAX)
      if (group.length > 0) void this.#fly(() => this.#answer(group))
    }
    const cancel = this.#options.clock.after(HELD_UP_MS, leave)
    try {
      return await run()
    } finally {
      cancel()
      leave()
    }
  }

  async #answer(group: readonly Waiting<Asked, Answer>[]): Promise<void> {
    const { one, many } = this.#options
    // One that can not be carried out must not stop the others; and to ask again is safe.
    let failure: unknown
    const failed = (error: unknown) => {
      failure = error
      return []
    }
    const answers =
      group.length === 1 ? [] : await many(group.map(({ asked }) => asked)).catch(failed)
    const alone: Promise<void>[] = []
    for (const [index, { asked, resolve, reject }] of group.entries()) {
      const answer = answers[index]
      if (answer === undefined)
        alone.push(one(asked).then(resolve, (error) => reject(both(failure, error))))
      else resolve(answer)
    }
    await Promise.all(alone)
  }
}

/** The group's statement may have taken effect as well, so its failure is told too. */
function both(first: unknown, second: unknown): unknown {
  if (first === undefined || !(isRepriseError(second) && second.retryable)) return second
  const cause = new AggregateError([first, second])
  return new RepriseError(STORE_UNAVAILABLE, second.detail, { cause })
}

interface Waiting<Asked, Answer> {
  readonly asked: Asked
  resolve(answer: Answer): void
  reject(error: unknown): void
}
