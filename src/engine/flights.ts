/**
 * Requests being decided or run in this process. Duplicates that arrive meanwhile join the flight of
 * the first instead of asking the store themselves: a thousand of them cost one claim.
 *
 * @module
 */

import type { Job } from './job.ts'
import type { RunResult } from './result.ts'

/** One try at a request. */
export interface Flight {
  /** The request that leads. */
  readonly job: Job
  /**
   * What the store decided: a refusal, or `undefined` when the run was granted. Where the claim goes
   * with the handler's first statement, the store decides while the handler runs. Asked for by who
   * follows, and by who leads and may have to wait.
   */
  readonly decided: Promise<RunResult | undefined>
  /** How the granted run ended; the refusal otherwise. Rejects with what the handler threw. */
  readonly ended: Promise<RunResult>
  /** What the request that leads gets: how the run ended, or what came before its end. */
  readonly result: Promise<RunResult>
  /** When the flight began, by the process's clock. */
  readonly startedAt: number
}

/** What a {@link BegunFlight} is made of. */
export interface FlightParts<Begun> extends Omit<Flight, 'decided' | 'result'> {
  /** What the store answers. */
  readonly begun: Promise<Begun>
  /** Whether that grants the run. */
  readonly isGranted: (begun: Begun) => boolean
  /** What the store decides about a claim that goes with the first statement; asked for once. */
  readonly claimed?: (() => Promise<RunResult | undefined>) | undefined
  /** Where the run puts a result that comes before its end; left out where none can. */
  readonly early?: EarlyResult
}

/** A result that is given before the run is over: its handler still works. */
export class EarlyResult {
  #given: (() => Promise<RunResult>) | undefined
  #hear: ((given: () => Promise<RunResult>) => void) | undefined

  /** Gives a result. */
  resolve(result: RunResult): void {
    this.#give(async () => result)
  }

  /** Gives what the handler threw. */
  reject(error: unknown): void {
    this.#give(async () => {
      throw error
    })
  }

  /** The early result, or `ended` where none comes before. */
  or(ended: Promise<RunResult>): Promise<RunResult> {
    if (this.#given !== undefined) return this.#given()
    return new Promise((resolve, reject) => {
      this.#hear = (given) => resolve(given())
      ended.then(resolve, reject)
    })
  }

  #give(given: () => Promise<RunResult>): void {
    this.#given = given
    this.#hear?.(given)
  }
}

/** A flight that works out what was decided when it is asked, because few ask. */
export class BegunFlight<Begun> implements Flight {
  readonly job: Job
  readonly ended: Promise<RunResult>
  readonly startedAt: number
  readonly #early: EarlyResult | undefined
  readonly #claimed: FlightParts<Begun>['claimed']
  readonly #begun: Promise<Begun>
  readonly #isGranted: (begun: Begun) => boolean
  #decided: Promise<RunResult | undefined> | undefined

  constructor(parts: FlightParts<Begun>) {
    const { job, claimed, ended, startedAt, begun, isGranted, early } = parts
    this.job = job
    this.#early = early
    this.#claimed = claimed
    this.ended = ended
    this.startedAt = startedAt
    this.#begun = begun
    this.#isGranted = isGranted
  }

  get result(): Promise<RunResult> {
    return this.#early?.or(this.ended) ?? this.ended
  }

  get decided(): Promise<RunResult | undefined> {
    return (this.#decided ??= this.#claimed?.() ?? this.#answered())
  }

  #answered(): Promise<RunResult | undefined> {
    return this.#begun.then((begun) => (this.#isGranted(begun) ? undefined : this.ended))
  }
}

/** The flights of one engine. */
export class Flights {
  readonly #flights = new Map<string, Flight>()

  /** The flight of the request that is under way. */
  find(request: string): Flight | undefined {
    return this.#flights.get(request)
  }

  /** Begins the flight of a request of which none is under way. */
  begin(request: string, start: () => Flight): Flight {
    const flight = start()
    this.#flights.set(request, flight)
    const land = () => {
      if (this.#flights.get(request) === flight) this.#flights.delete(request)
    }
    // This also keeps the failure of a flight quiet that has no passengers; each passenger handles its
    // own. A refusal is over at once: it ends the flight before anybody hears that it was decided.
    flight.ended.then(land, land)
    return flight
  }

  /** Resolves when every flight under way has landed. */
  async landed(): Promise<void> {
    await Promise.allSettled([...this.#flights.values()].map(({ ended }) => ended))
  }
}
