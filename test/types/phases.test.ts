/**
 * Which graphs of phases the compiler refuses, and what it knows inside those it accepts. Every
 * `@ts-expect-error` is a mistake that must not compile.
 */

import type { Pool, PoolClient } from 'pg'
import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createReprise, memoryStore, type Reprise } from '../../src/index.ts'
import {
  advance,
  didNotHappen,
  foreignCall,
  happened,
  operation,
  phase,
  respond,
  retryLater,
  unknown,
} from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

interface Ride {
  readonly rideId: number
}

const input = z.object({ lat: z.number() })

/** Never called: what is looked at is whether it compiles. */
function compiled(pool: Pool) {
  const reprise = createReprise({ store: postgresStore(pool) })
  const options = { reprise, input }

  operation('everything is inferred', options, {
    started: phase(async ({ tx, input: asked, caller, key, stage }) => {
      expectTypeOf(tx).toEqualTypeOf<PoolClient>()
      expectTypeOf(asked).toEqualTypeOf<{ lat: number }>()
      expectTypeOf(caller).toEqualTypeOf<string>()
      expectTypeOf(key).toEqualTypeOf<string>()
      expectTypeOf(await stage('job', {})).toEqualTypeOf<string>()
      return advance('ride_created', { rideId: 1 })
    }),
    ride_created: foreignCall({
      call: async ({ key, signal }, { rideId }: Ride) => {
        expectTypeOf(key).toEqualTypeOf<string>()
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
        return { chargeId: `ch_${rideId}` }
      },
      done: async ({ tx, result }, state: Ride) => {
        expectTypeOf(tx).toEqualTypeOf<PoolClient>()
        expectTypeOf(result).toEqualTypeOf<{ chargeId: string }>()
        return advance('charge_created', state)
      },
      failed: (error) => (error instanceof TypeError ? respond(402, {}) : retryLater()),
      reconcile: async (_, { rideId }: Ride) =>
        rideId > 1 ? happened({ chargeId: '' }) : rideId > 0 ? didNotHappen : unknown,
    }),
    charge_created: phase(async (_, { rideId }: Ride) => {
      expectTypeOf(rideId).toEqualTypeOf<number>()
      return respond(201, { ok: true })
    }),
  })

  operation('a point that does not exist', options, {
    // @ts-expect-error there is no phase nowhere
    started: phase(async () => advance('nowhere')),
  })

  operation('a state of the wrong type', options, {
    // @ts-expect-error next takes another state
    started: phase(async () => advance('next', { rideId: 'one' })),
    next: phase(async (_, { rideId }: Ride) => respond(200, { rideId })),
  })

  operation('a state that is missing', options, {
    // @ts-expect-error next takes another state
    started: phase(async () => advance('next')),
    next: phase(async (_, { rideId }: Ride) => respond(200, { rideId })),
  })

  operation('one of several ways has the wrong state', options, {
    // @ts-expect-error next takes another state
    started: phase(async ({ input: { lat } }) => {
      return lat > 0 ? advance('next', { rideId: 1 }) : advance('next', { ride: 1 })
    }),
    next: phase(async (_, { rideId }: Ride) => respond(200, { rideId })),
  })

  operation('a phase that is never reached', options, {
    started: phase(async () => respond(200)),
    // @ts-expect-error lost is never reached
    lost: phase(async () => respond(200)),
  })

  operation('a cycle', options, {
    started: phase(async () => advance('one')),
    // @ts-expect-error one leads back to itself
    one: phase(async () => advance('two')),
    // @ts-expect-error two leads back to itself
    two: phase(async ({ input: { lat } }) => (lat > 0 ? advance('one') : respond(200))),
  })

  operation('a phase that leads to itself', options, {
    // @ts-expect-error started leads back to itself
    started: phase(async ({ input: { lat } }) => (lat > 0 ? advance('started') : respond(200))),
  })

  operation('a way out of a failed call that does not exist', options, {
    // @ts-expect-error there is no phase refused
    started: foreignCall({
      call: async () => 1,
      done: () => respond(200),
      failed: () => advance('refused'),
    }),
  })

  operation('no beginning', options, {
    // @ts-expect-error is never reached, and started is missing
    begun: phase(async () => respond(200)),
  })

  operation('a phase that answers nothing', options, {
    // @ts-expect-error must give a step
    started: phase(async () => {}),
  })

  operation('a column of another table', options, {
    started: phase(async ({ input: asked }) => {
      // @ts-expect-error the input has no lon
      return respond(200, { lon: asked.lon })
    }),
  })

  const withoutTransactions: Reprise = createReprise({ store: memoryStore() })
  operation(
    'a store without transactions',
    // @ts-expect-error runInTransaction is missing
    { reprise: withoutTransactions, input },
    { started: phase(async () => respond(200)) },
  )
}

describe('phases', () => {
  it('that do not fit together do not compile', () => {
    expectTypeOf(compiled).toBeFunction()
  })
})
