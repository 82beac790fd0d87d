import { describeActions } from './actions.ts'
import { describeLists } from './lists.ts'
import { memoryWorld } from './world.ts'

describeActions('memory', memoryWorld)
describeLists('memory', memoryWorld)
