/**
 * All dialects by name. Who needs only one imports its module, and the others stay out of the bundle.
 *
 * @module
 */

import { agents } from './agents.ts'
import { charges } from './charges.ts'
import type { Dialect } from './dialect.ts'
import { ietf } from './ietf.ts'
import { rides } from './rides.ts'
import { stripe } from './stripe.ts'
import { tasks } from './tasks.ts'
import { workflows } from './workflows.ts'

export type { Dialect, IdentityPart, IdentityParts, Marks, RetryMark } from './dialect.ts'
export { type DialectOverrides, extendDialect } from './extend-dialect.ts'
export { agents, charges, ietf, rides, stripe, tasks, workflows }

/** Names of the dialects that come with the package. */
export type DialectName = 'ietf' | 'stripe' | 'tasks' | 'rides' | 'workflows' | 'charges' | 'agents'

/** The dialects that come with the package. */
export const dialects: Readonly<Record<DialectName, Dialect>> = {
  ietf,
  stripe,
  tasks,
  rides,
  workflows,
  charges,
  agents,
}
