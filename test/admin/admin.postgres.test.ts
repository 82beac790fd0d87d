import { describeActions } from './actions.ts'
import { postgresWorld } from './world.ts'

describeActions('PostgreSQL', postgresWorld)
