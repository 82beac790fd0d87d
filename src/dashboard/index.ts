/**
 * The dashboard: `createDashboard` makes a function from `Request` to `Response`; the modules beside
 * this one mount it in each framework.
 *
 * @module
 */

export { createDashboard, type Dashboard } from './dashboard.ts'
export type { MountPoint } from './mount.ts'
export type {
  Action,
  Authorize,
  BasicAuth,
  DashboardOptions,
  LabelColor,
  Viewer,
} from './options.ts'
