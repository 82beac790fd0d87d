import { describeContract, describeTransactions } from './describe.ts'
import { pgHarness } from './postgres.harness.ts'

const make = () => pgHarness({ defaultIsolation: 'serializable', schema: 'Odd name-ü.1' })

describeContract('PostgreSQL that is serializable by default', make)
describeTransactions('PostgreSQL that is serializable by default', make)
