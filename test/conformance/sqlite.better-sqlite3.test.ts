import { describeClient } from '../stores/sqlite-harness.ts'

describeClient('better-sqlite3')
