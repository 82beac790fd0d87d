/**
 * The table of commands.
 *
 * @module
 */

import type { Command } from '../command.ts'
import { check } from './check.ts'
import { deadList, deadResolve, deadShow } from './dead.ts'
import { demo } from './demo.ts'
import { devApi } from './dev-api.ts'
import { doctor } from './doctor.ts'
import { info } from './info.ts'
import { init } from './init.ts'
import { keysExpire, keysGet, keysList, keysRelease, keysResume } from './keys.ts'
import { migrateDown, migrateSql, migrateStatus, migrateUp } from './migrate.ts'
import { send } from './send.ts'
import { stats } from './stats.ts'
import { version } from './version.ts'

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  ...[init, demo, devApi],
  ...[migrateUp, migrateDown, migrateStatus, migrateSql, doctor],
  ...[keysList, keysGet, keysResume, keysRelease, keysExpire],
  ...[deadList, deadShow, deadResolve, stats],
  ...[send, check, info, version],
]
