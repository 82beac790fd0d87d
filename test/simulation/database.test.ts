import {
  describeContract,
  describeDifferential,
  describeTransactions,
} from '../conformance/describe.ts'
import { Tables } from './database/tables.ts'
import { directWire } from './direct-wire.ts'
import { remoteStore } from './remote-store.ts'

async function makeHarness() {
  let now = 1_000_000
  const tables = new Tables({ now: () => (now += 0.001) })
  let effects = 0
  return {
    store: remoteStore(tables, directWire),
    peer: remoteStore(tables, directWire),
    concurrentTransactions: true,
    advance: async (ms: number) => void (now += ms),
    // The harness knows no more of a transaction than its store does.
    addEffect: (tx: unknown) =>
      (tx as { write(...row: readonly string[]): Promise<void> }).write(
        'id',
        'effect',
        `${++effects}`,
      ),
    countEffects: async () => tables.rows.length,
  }
}

describeContract('the simulated database', makeHarness)
describeTransactions('the simulated database', makeHarness)
describeDifferential('the simulated database', makeHarness, { lanes: 1 })
