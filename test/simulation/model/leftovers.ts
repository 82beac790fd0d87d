import type { Flights } from '../../../src/engine/flights.ts'
import { type LeaseReprise, partsOf } from '../../../src/engine/reprise.ts'
import { drained } from '../scheduler.ts'

/** Watches what an engine keeps in memory of its requests: nothing, once they are answered. */
export class Leftovers {
  readonly #settled: () => Promise<void>
  readonly #flights: Flights
  readonly #asked = new Set<string>()

  constructor(reprise: LeaseReprise) {
    const { context } = partsOf(reprise)
    const { flights } = context
    this.#settled = () => context.settled()
    this.#flights = flights
    const begin = flights.begin.bind(flights)
    flights.begin = (request, start) => {
      this.#asked.add(request)
      return begin(request, start)
    }
  }

  /** Whether something is under way, or a duplicate would still join what is over. */
  async areThere(): Promise<boolean> {
    let isSettled = false
    void this.#settled().then(() => {
      isSettled = true
    })
    await drained()
    return !isSettled || [...this.#asked].some((request) => this.#flights.find(request))
  }
}
