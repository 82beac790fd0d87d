/**
 * What a dashboard is made with. Without a word about who may see it, none is made.
 *
 * @module
 */

import type { Admin, Payload, RequestAction } from '../admin/admin.ts'
import { checkNames, type Names } from '../core/known-options.ts'
import { invalid } from '../core/options.ts'
import type { Clock } from '../engine/clock.ts'

/**
 * What a person may do besides looking:
 * - `payload.read`: see input, state and answer of a request, redacted.
 * - `resume`, `release`, `expire`: act on requests.
 * - `settle`: settle what needs a person.
 * - `retry_job`: hand a staged job over again.
 * - `steer_worker`: pause, resume and run a worker.
 */
export type Action = 'payload.read' | RequestAction | 'settle' | 'retry_job' | 'steer_worker'

/** Every action there is. */
export const ACTIONS: readonly Action[] = [
  ...(['payload.read', 'resume', 'release', 'expire'] as const),
  ...(['settle', 'retry_job', 'steer_worker'] as const),
]

/** Who looks, and what they may do. */
export interface Viewer {
  /** The name that the audit gets. */
  readonly user: string
  /** `all`, `read` (nothing but look, and no payload), or looking and these. */
  readonly can: 'all' | 'read' | readonly Action[]
  /**
   * Callers whose requests are shown; all others do not exist for this person. Pages that can not
   * be told apart by caller (conflicts, staged jobs, audit) are not shown then, nor sums over all.
   *
   * @default all callers
   */
  readonly scopes?: readonly string[]
}

/** Says who a request comes from; `null` for nobody who may look. */
export type Authorize = (request: Request) => Viewer | null | Promise<Viewer | null>

/** A user name and a password, asked for by the browser. */
export interface BasicAuth {
  readonly username: string
  /** At least 8 characters. */
  readonly password: string
}

/** Settings of a dashboard. One of `authorize`, `basicAuth` and `unsafeNoAuth` has to be given. */
export interface DashboardOptions {
  /** The operator's view of the store: what `createAdmin` made. */
  readonly admin: Admin
  /** Says who looks. */
  readonly authorize?: Authorize
  /** One user, who may do everything. */
  readonly basicAuth?: BasicAuth
  /** Lets everybody do everything: for a machine of one's own. Warns in production. */
  readonly unsafeNoAuth?: true
  /**
   * Whether nobody can change anything, whatever they may do otherwise.
   *
   * @default false
   */
  readonly readOnly?: boolean
  /**
   * Name of the environment, shown in the header and in the title, such as `production`.
   *
   * @default none
   */
  readonly label?: string
  /**
   * Colour of the label's mark.
   *
   * @default 'grey'
   */
  readonly labelColor?: LabelColor
  /**
   * Takes out of a payload what nobody should see, after the store's own redaction.
   *
   * @default nothing more is taken out
   */
  readonly redact?: (payload: Payload) => Payload
  /**
   * Where the browser sees the dashboard, such as `/ops/reprise`.
   *
   * @default found out: from the mount, from `X-Forwarded-Prefix`, or from the path itself
   */
  readonly basePath?: string
  /**
   * Origins under which browsers see the dashboard, such as `https://ops.example.com`, where a proxy
   * replaces `Host`. Orders from pages of these are taken also of browsers that do not send
   * `Sec-Fetch-Site`.
   *
   * @default none but the one with the host of the request
   */
  readonly origins?: readonly string[]
  /**
   * How old a reading may be that viewers share, in milliseconds; also how often watchers are told.
   *
   * @default 2000
   */
  readonly refreshMs?: number
  /**
   * Link to a trace, with `{requestId}` in it.
   *
   * @default none
   */
  readonly traceUrl?: string
  /**
   * Link to look up a foreign call at the provider, with `{callKey}` in it.
   *
   * @default none
   */
  readonly callUrl?: string
  /**
   * Time.
   *
   * @default the system's
   */
  readonly clock?: Clock
}

/** A colour of the label's mark. */
export type LabelColor = 'grey' | 'green' | 'orange' | 'red'

const COLORS: readonly string[] = ['grey', 'green', 'orange', 'red'] satisfies LabelColor[]
const OPTIONS: Names<DashboardOptions> = {
  admin: true,
  authorize: true,
  basicAuth: true,
  unsafeNoAuth: true,
  readOnly: true,
  label: true,
  labelColor: true,
  redact: true,
  basePath: true,
  origins: true,
  refreshMs: true,
  traceUrl: true,
  callUrl: true,
  clock: true,
}
const PASSWORD_LENGTH_MIN = 8
const REFRESH_MS_MIN = 100
const GUIDE = 'node_modules/reprise/docs/dashboard.md#who-may-see-it'

/**
 * Refuses settings that can not work, above all those that say nothing about who may look.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function checkOptions(options: DashboardOptions): void {
  checkNames('createDashboard()', options, OPTIONS)
  const { authorize, basicAuth, unsafeNoAuth, basePath, labelColor, refreshMs } = options
  const ways = [authorize, basicAuth, unsafeNoAuth].filter((way) => way !== undefined)
  if (ways.length !== 1) throw invalid(waysFault(ways.length))
  if (authorize !== undefined && typeof authorize !== 'function') {
    throw invalid('authorize must be a function')
  }
  if (unsafeNoAuth !== undefined && !unsafeNoAuth) {
    throw invalid('unsafeNoAuth can only be true')
  }
  if (basicAuth !== undefined) checkBasicAuth(basicAuth)
  if (typeof options.admin?.overview !== 'function') {
    throw invalid('admin must be what createAdmin() made')
  }
  if (basePath !== undefined && !/^\/[^\s?#"<>\\]*$/.test(basePath)) {
    throw invalid(`basePath must be a path that begins with /, not ${JSON.stringify(basePath)}`)
  }
  for (const origin of options.origins ?? []) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw invalid(`origins must have origins like https://ops.example.com, not ${origin}`)
    }
  }
  if (labelColor !== undefined && !COLORS.includes(labelColor)) {
    throw invalid(`labelColor must be one of ${COLORS.join(', ')}`)
  }
  if (refreshMs !== undefined && !(refreshMs >= REFRESH_MS_MIN)) {
    throw invalid(`refreshMs must be at least ${REFRESH_MS_MIN} milliseconds, not ${refreshMs}`)
  }
}

function waysFault(count: number): string {
  if (count > 1) return 'Give only one of authorize, basicAuth and unsafeNoAuth'
  return `A dashboard needs to know who may see it: give authorize, basicAuth, or unsafeNoAuth: true on a machine of your own (${GUIDE})`
}

function checkBasicAuth({ username, password }: BasicAuth): void {
  if (typeof username !== 'string' || username === '' || username.includes(':')) {
    throw invalid('basicAuth.username must be a name without a colon')
  }
  if (typeof password !== 'string' || password.length < PASSWORD_LENGTH_MIN) {
    throw invalid(`basicAuth.password must have at least ${PASSWORD_LENGTH_MIN} characters`)
  }
}
