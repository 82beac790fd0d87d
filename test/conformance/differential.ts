/**
 * The differential test: random histories go through a store and through the model in lock-step,
 * and after each command both must have answered the same. The model is the memory store, which is
 * nothing but `core/decide.ts` and `core/transition.ts` over a map.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Claim, Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { digest, sampleRequest } from '../../src/testing/contract/sample.ts'
import { sweepAll } from '../../src/testing/contract/standings.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import type { StoreHarness } from '../../src/testing/harness.ts'
import {
  type Answer,
  answerOfClaim,
  answerOfFind,
  type PlainAnswer,
  TICK_MS,
} from './differential-answer.ts'
import {
  type Command,
  describeHistory,
  type History,
  histories,
  IDENTITIES,
  needsWholeStore,
} from './differential-history.ts'
import { type Cast, play, type StoreCommand } from './differential-play.ts'

export interface DifferentialOptions {
  /** The store. Its `advance` has to keep to the ids given, unless there is one lane only. */
  readonly harness: StoreHarness
  /** The same seed gives the same histories. */
  readonly seed: number
  /** How many histories at least. */
  readonly histories: number
  /**
   * How many histories run at once.
   *
   * @default 8
   */
  readonly lanes?: number
}

/** Runs the histories; throws with the smallest one found on which store and model differ. */
export async function runDifferential(options: DifferentialOptions): Promise<void> {
  const { harness, seed, lanes = 8 } = options
  const batches = fc.array(histories, { minLength: lanes, maxLength: lanes })
  const property = fc.asyncProperty(batches, async (batch) => {
    const shared = batch.filter((history) => !needsWholeStore(history))
    await settleAll(shared.map((history) => runHistory(harness, history)))
    for (const history of batch.filter(needsWholeStore)) await runHistory(harness, history)
  })
  const numRuns = Math.ceil(options.histories / lanes)
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns })
  if (!failed) return

  const culprits = (counterexample?.[0] ?? []).filter(({ length }) => length > 0)
  const text = culprits.map(describeHistory).join('\n\nand at the same time\n\n')
  const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  const message = `REPRISE_SEED=${seed} leads to this history:\n\n${text}\n\n${reason}`
  throw new Error(message, { cause: errorInstance })
}

/** Waits for all, so that no history still runs while a failing one is made smaller. */
async function settleAll(runs: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(runs)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

async function runHistory(harness: StoreHarness, history: History): Promise<void> {
  if (needsWholeStore(history)) await sweepAll(harness.store)
  const run = new LockStep(harness)
  for (const [index, command] of history.entries()) await run.step(command, index + 1)
  if (history.length > 0) await run.end()
}

/** One history on its way through the store and the model. */
class LockStep {
  readonly #harness: StoreHarness
  readonly #clock = new FakeClock()
  readonly #model: Store = memoryStore({ clock: this.#clock })
  readonly #name: string = randomUUID()
  readonly #ids = Array.from({ length: IDENTITIES }, (_, index) => digest(`${this.#name} ${index}`))
  /** How often each run crashed. */
  readonly #crashes = new Map<number, number>()
  /** Newest first. */
  readonly #claims: Claim[] = []

  readonly #cast: Cast = {
    caller: this.#name,
    id: (identity) => this.#ids[identity] ?? '',
    owner: (process) => `process ${process}, life ${this.#crashes.get(process) ?? 0}`,
    claim: (pick) =>
      this.#claims[pick % Math.max(this.#claims.length, 1)] ?? {
        ...{ id: this.#cast.id(0), owner: 'nobody', fence: 1 },
      },
  }

  constructor(harness: StoreHarness) {
    this.#harness = harness
  }

  async step(command: Command, number: number): Promise<void> {
    switch (command.kind) {
      case 'tick':
        this.#clock.advance(command.ticks * TICK_MS)
        return this.#harness.advance(command.ticks * TICK_MS, this.#ids)
      case 'crash':
        this.#crashes.set(command.process, (this.#crashes.get(command.process) ?? 0) + 1)
        return
      default:
        await this.#compare(command, number)
        if ('twice' in command && command.twice) await this.#compare(command, number)
    }
  }

  /** Compares the records that are left, and leaves none that another history could come upon. */
  async end(): Promise<void> {
    const { store } = this.#harness
    for (const id of this.#ids) {
      const found = answerOfFind(await store.find(id))
      assertSame(found, answerOfFind(await this.#model.find(id)), 'At the end')
    }
    await this.step({ kind: 'tick', ticks: 1000 }, 0)
    for (const id of this.#ids) {
      const found = await this.#model.find(id)
      if (found === undefined || found.record.response !== null) continue
      const request = sampleRequest({ id })
      const answer = answerOfClaim(await store.claim(request))
      assertSame(answer, answerOfClaim(await this.#model.claim(request)), 'Long after the end')
      await store.release({ id, owner: request.owner, fence: 1 }, 'forget')
    }
  }

  async #compare(command: StoreCommand, number: number): Promise<void> {
    const { store, peer } = this.#harness
    const through = 'process' in command && command.process === 1 ? peer : store
    const actual = await play(command, through, this.#cast)
    const expected = await play(command, this.#model, this.#cast)
    assertSame(actual, expected, `At command ${number}`)
    const granted = isPlain(expected) ? expected.claim : undefined
    if (granted !== undefined) this.#claims.unshift(granted)
  }
}

function isPlain(answer: Answer): answer is PlainAnswer {
  return typeof answer === 'object' && answer !== null && !Array.isArray(answer)
}

function assertSame(actual: Answer, expected: Answer, where: string): void {
  try {
    assert.deepEqual(actual, expected)
  } catch (cause) {
    const answers = `${JSON.stringify(actual)}, the model ${JSON.stringify(expected)}`
    throw new Error(`${where} the store answers ${answers}.`, { cause })
  }
}
