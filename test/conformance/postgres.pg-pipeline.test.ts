import { describeContract, describeTransactions } from './describe.ts'
import { pgHarness } from './postgres.harness.ts'

const make = () => pgHarness({ pool: { pipeline: true } })

describeContract('PostgreSQL through pg, pipelined', make)
describeTransactions('PostgreSQL through pg, pipelined', make)
