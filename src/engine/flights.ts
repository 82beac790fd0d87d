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
  /** What the store decided: a refusal, or `undefined` when the run was granted. */
  readonly decided: Promise<RunResult | undefined>
  /**
   * The same where the claim goes with the handler's first statement, so that the handler was let
   * run before the store had decided: for who leads, who may have to wait for another run yet.
   */
  readonly claimed?: Promise<RunResult | undefined>
  /** How the granted run ended; the refusal otherwise. Rejects with what the handler threw. */
  readonly ended: Promise<RunResult>
  /** When the flight began, by the process's clock. */
  readonly startedAt: number
}

/** The flights of one engine. */
export class Flights {
  readonly #flights = new Map<string, Flight>()

  /** The flight of the request: the one under way, or the one that `start` begins. */
  join(request: string, start: () => Flight): { flight: Flight; isLeader: boolean } {
    const underway = this.#flights.get(request)
    if (underway !== undefined) return { flight: underway, isLeader: false }

    const flight = start()
    this.#flights.set(request, flight)
    const land = () => {
      if (this.#flights.get(request) === flight) this.#flights.delete(request)
    }
    // A refusal is over at once: who looks again must not be given the same one. These also keep the
    // failure of a flight quiet that has no passengers; each passenger handles its own.
    flight.decided.then((refusal) => refusal !== undefined && land(), land)
    flight.ended.then(land, land)
    return { flight, isLeader: true }
  }

  /** Resolves when every flight under way has landed. */
  async landed(): Promise<void> {
    await Promise.allSettled([...this.#flights.values()].map(({ ended }) => ended))
  }
}
