import { describeContract, describeDifferential, describeTransactions } from './describe.ts'
import { pgliteHarness } from './postgres.harness.ts'

describeContract('PGlite', pgliteHarness)
describeTransactions('PGlite', pgliteHarness)
describeDifferential('PGlite', pgliteHarness)
