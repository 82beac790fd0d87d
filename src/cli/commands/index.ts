/**
 * The table of commands.
 *
 * @module
 */

import type { Command } from '../command.ts'
import { check } from './check.ts'
import { demo } from './demo.ts'
import { devApi } from './dev-api.ts'
import { doctor } from './doctor.ts'
import { info } from './info.ts'
import { init } from './init.ts'
import { migrateDown, migrateSql, migrateStatus, migrateUp } from './migrate.ts'
import { send } from './send.ts'
import { version } from './version.ts'

/** Every command, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  migrateUp,
  migrateDown,
  migrateStatus,
  migrateSql,
  init,
  demo,
  devApi,
  doctor,
  send,
  check,
  info,
  version,
]
