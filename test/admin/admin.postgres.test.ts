import { describeActions } from './actions.ts'
import { describeLists } from './lists.ts'
import { postgresWorld } from './world.ts'

describeActions('PostgreSQL', postgresWorld)
describeLists('PostgreSQL', postgresWorld)
