import { isRepriseError } from '../../src/core/errors.ts'
import type { RunRequest } from '../../src/engine/job.ts'
import type { RunResult } from '../../src/engine/result.ts'
import { text } from './world.ts'

/** A request that a client sent. */
export interface Sent {
  readonly request: RunRequest
  readonly sentAt: number
}

/** The claim that a run works under. */
export interface Grant {
  /** When the store granted it. */
  readonly grantedAt: number
  /** When the record was made, from which its retention counts. */
  readonly madeAt: number
}

/** One run of a handler. */
export interface SimulatedRun extends Grant {
  readonly number: number
  readonly sent: Sent
}

/** An answer that the store took. */
interface StoredAnswer {
  readonly body: string
  readonly at: number
  readonly expiresAt: number
}

/** What holds in a simulation. */
export interface Promised {
  /** Whether a request has at most one effect, as long as its record is kept. */
  readonly isAtMostOnce: boolean
  readonly retentionMs: number
  /** Whether the store answers at once. Who joins a look under way may be told what was before. */
  readonly isPrompt: boolean
}

/** What really happened, held against what clients are told. */
export class Ledger {
  /** What must not be and was. */
  readonly contradictions: string[] = []
  /** How often requests ended how. */
  readonly ends = new Map<string, number>()
  readonly #promised: Promised
  readonly #runs = new Map<Sent, SimulatedRun>()
  readonly #effects: SimulatedRun[] = []
  readonly #stored = new Map<string, StoredAnswer[]>()
  readonly #granted = new Set<string>()

  constructor(promised: Promised) {
    this.#promised = promised
  }

  /** The store granted a claim. */
  granted(key: string, fingerprint: string): void {
    this.#granted.add(`${key} ${fingerprint}`)
  }

  /** A handler begins. */
  start(sent: Sent, grant: Grant): SimulatedRun {
    const run = { ...grant, number: this.#runs.size + 1, sent }
    this.#runs.set(sent, run)
    return run
  }

  /** A handler takes effect. */
  effect(run: SimulatedRun): void {
    for (const other of this.#promised.isAtMostOnce ? this.#effects : []) {
      if (other.sent.request.key !== run.sent.request.key) continue
      const [earlier, later] = other.grantedAt <= run.grantedAt ? [other, run] : [run, other]
      const isLater = later.grantedAt >= this.#expiryOf(earlier)
      this.#hold(isLater, `runs ${earlier.number} and ${later.number} both took effect`)
    }
    this.#effects.push(run)
  }

  /** The run that took effect for the request, if any, since the record was made. */
  effectSince(record: { key: string; fingerprint: string; createdAt: number }) {
    return this.#effects.findLast(
      ({ sent: { request }, grantedAt }) =>
        request.key === record.key &&
        request.fingerprints.includes(record.fingerprint) &&
        grantedAt >= record.createdAt,
    )
  }

  /** The store took an answer. */
  stored(key: string, answer: StoredAnswer): void {
    const answers = this.#stored.get(key) ?? []
    const previous = answers.at(-1)
    if (previous?.body === answer.body) return
    const isFree = previous === undefined || previous.expiresAt <= answer.at
    this.#hold(isFree, `the store took ${previous?.body} and ${answer.body}`)
    this.#stored.set(key, [...answers, answer])
  }

  /** A client is told how its request ended. */
  told(sent: Sent, result: RunResult): void {
    this.#count(result.outcome)
    if ('response' in result) return this.#answered(sent, result)
    const { key, fingerprints } = sent.request
    const isSeen = this.#granted.has(`${key} ${fingerprints[0]}`)
    const others = this.#granted.size - (isSeen ? 1 : 0)
    if (result.outcome === 'mismatch') this.#hold(others > 0, 'mismatch with nothing')
    if (result.outcome === 'unknown') this.#hold(isSeen, 'unknown, and never granted')
  }

  #answered(sent: Sent, result: Extract<RunResult, { response: unknown }>): void {
    const { key, fingerprints } = sent.request
    const body = text(result.response)
    if (result.outcome !== 'replayed' && result.fate !== 'stored') {
      this.#count(result.fate)
      const isForgotten = result.fate === 'forgotten'
      return this.#hold(!(isForgotten && this.#hasEffect(sent)), `${body} is forgotten`)
    }
    const stored = this.#stored.get(key)?.find((answer) => answer.body === body)
    this.#hold(stored !== undefined, `${body} is told as stored, and is not`)
    const isKept =
      stored === undefined || !this.#promised.isPrompt || sent.sentAt < stored.expiresAt
    this.#hold(isKept, `${body} is told past its retention`)
    this.#hold(body.includes(`"${fingerprints[0]}"`), `${body} is told to another request`)
  }

  /** A client is told that its request failed. */
  failed(sent: Sent, error: unknown): void {
    const code = isRepriseError(error) ? error.code : 'thrown'
    this.#count(code)
    if (code === 'thrown') {
      const isOwn = String(error).endsWith(`run ${this.#runs.get(sent)?.number}`)
      this.#hold(isOwn, `${String(error)} is told to another request`)
    }
    const isStarted = code === 'idempotency-store-unavailable' && this.#hasEffect(sent)
    this.#hold(!isStarted, 'nothing was started, and it took effect')
  }

  #hasEffect(sent: Sent): boolean {
    return this.#effects.some((run) => run.sent === sent)
  }

  /** From when on a run's record no longer stands for it. */
  #expiryOf(run: SimulatedRun): number {
    const answers = this.#stored.get(run.sent.request.key)
    const stored = answers?.find(({ body }) => body === bodyOf(run))
    return stored?.expiresAt ?? run.madeAt + this.#promised.retentionMs
  }

  #hold(holds: boolean, contradiction: string): void {
    if (!holds) this.contradictions.push(contradiction)
  }

  #count(end: string): void {
    this.ends.set(end, (this.ends.get(end) ?? 0) + 1)
  }
}

/** The answer of a run: names it, so that answers can be told apart. */
export function bodyOf({ number, sent: { request } }: SimulatedRun): string {
  return JSON.stringify([request.key, ...request.fingerprints, number])
}
