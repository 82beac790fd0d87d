import { describeContract, describeDifferential, describeTransactions } from './describe.ts'
import { postgresJsHarness } from './postgres.harness.ts'

describeContract('PostgreSQL through postgres.js', postgresJsHarness)
describeTransactions('PostgreSQL through postgres.js', postgresJsHarness)
describeDifferential('PostgreSQL through postgres.js', postgresJsHarness)
