import { describeContract, describeDifferential, describeTransactions } from './describe.ts'
import { pgHarness } from './postgres.harness.ts'

describeContract('PostgreSQL through pg', pgHarness)
describeTransactions('PostgreSQL through pg', pgHarness)
describeDifferential('PostgreSQL through pg', pgHarness)
