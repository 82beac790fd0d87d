/**
 * The table of commands.
 *
 * @module
 */

import type { Command } from '../command.ts'
import { check } from './check.ts'
import { completionOf } from './completion.ts'
import { dashboard } from './dashboard.ts'
import { deadList, deadResolve, deadShow } from './dead.ts'
import { demo } from './demo.ts'
import { dev } from './dev.ts'
import { devApi } from './dev-api.ts'
import { doctor } from './doctor.ts'
import { info } from './info.ts'
import { init } from './init.ts'
import { keysExpire, keysGet, keysList, keysRelease, keysResume } from './keys.ts'
import { keysTail } from './keys-tail.ts'
import { migrateDown, migrateSql, migrateStatus, migrateUp } from './migrate.ts'
import { send } from './send.ts'
import { stats } from './stats.ts'
import { version } from './version.ts'
import { worker } from './worker.ts'

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  ...[init, dev, demo, devApi],
  ...[migrateUp, migrateDown, migrateStatus, migrateSql, doctor],
  ...[worker, dashboard],
  ...[keysList, keysGet, keysTail, keysResume, keysRelease, keysExpire],
  ...[deadList, deadShow, deadResolve, stats],
  ...[send, check, info, completionOf(() => COMMANDS), version],
]
