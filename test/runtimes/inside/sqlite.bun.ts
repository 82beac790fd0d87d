import { describeClient } from '../../stores/sqlite-harness.ts'

describeClient('bun:sqlite')
