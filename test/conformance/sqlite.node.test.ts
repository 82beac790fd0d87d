import { describeClient } from '../stores/sqlite-harness.ts'

describeClient('node:sqlite')
