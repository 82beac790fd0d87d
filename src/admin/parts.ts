/**
 * What the parts of the admin API share.
 *
 * @module
 */

import type { Clock } from '../engine/clock.ts'
import type { Context } from '../engine/context.ts'
import type { Desk } from '../engine/desk.ts'
import type { LeaseReprise } from '../engine/reprise.ts'
import type { AdminSettings } from './options.ts'

/** The engine, its store's desk and the settings. */
export interface AdminParts {
  readonly reprise: LeaseReprise
  readonly context: Context<unknown>
  readonly desk: Desk
  readonly settings: AdminSettings
  readonly clock: Clock
}
