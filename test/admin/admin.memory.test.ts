import { describeActions } from './actions.ts'
import { memoryWorld } from './world.ts'

describeActions('memory', memoryWorld)
