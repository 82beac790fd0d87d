/**
 * The dashboard of the server, below `/dashboard`.
 *
 * @module
 */

import { createAdmin } from 'reprise/admin'
import { createDashboard } from 'reprise/dashboard'
import { dashboardListener } from 'reprise/dashboard/node'
import type { Node } from './node.ts'
import type { MountedApi } from './router.ts'

const BASE = '/dashboard'

/** The dashboard. Only for the demo, on a machine of one's own: everybody may do everything. */
export function mountDashboard({ reprise, operations }: Node): MountedApi {
  const dashboard = createDashboard({
    admin: createAdmin(reprise, { operations }),
    ...{ unsafeNoAuth: true, label: 'demo', labelColor: 'green' },
  })
  return { paths: [BASE], listener: dashboardListener(dashboard, { base: BASE }) }
}
