import { checkNames, type Names } from '../../core/known-options.ts'
import { invalid, whole } from '../../core/options.ts'
import { type Clock, type Random, systemClock, systemRandom } from '../../engine/clock.ts'

/** Settings of `sqliteStore`. */
export interface SqliteStoreOptions {
  /**
   * What the names of the tables begin with.
   *
   * @default 'reprise_'
   */
  readonly prefix?: string
  /**
   * How SQLite makes commits durable. `'wal'` lets readers go on while one writes and costs one
   * flush to disk per commit; it is set together with `synchronous = full`. `'delete'` is the
   * rollback journal, for a file that several connections share on a SQLite version which loses
   * commits in WAL mode; it is set together with `synchronous = extra`, because under less a power
   * cut can bring the journal, and with it the state before the commit, back. A handle that is set
   * to a stricter level keeps it.
   *
   * @default 'wal'
   */
  readonly journal?: 'wal' | 'delete'
  /**
   * Whether other connections, of this or another process, have to be able to open the file. Where
   * WAL mode is only safe for one connection (SQLite before 3.51.3, but for 3.50.7 and 3.44.6 and
   * later patches of those), the store takes the file for itself, and refuses to start when this is
   * asked for.
   *
   * @default false: whether others can open the file depends on the version
   */
  readonly shared?: boolean
  /**
   * Whether `ready()` brings the schema up to date. Without it, `ready()` fails on an old schema.
   *
   * @default true
   */
  readonly migrate?: boolean
  /**
   * How long a call waits for other transactions on the handle or the file, in milliseconds, before
   * the store counts as unavailable. Keep it below `storeTimeoutMs` of the engine, so that a call
   * ends with the store's own definite answer.
   *
   * @default 4000
   */
  readonly busyMs?: number
  /**
   * Decides how long the store waits; never whether a lease holds, which is the database's to say.
   *
   * @default the process's monotonic clock
   */
  readonly clock?: Clock
  /**
   * Spreads attempts.
   *
   * @default real chance
   */
  readonly random?: Pick<Random, 'fraction'>
}

/** Options with nothing left open. */
export type SqliteSettings = Required<SqliteStoreOptions>

/** Leaves room for the rest of the longest name within what databases and people can take. */
const PREFIX = /^[a-z_][a-z0-9_]{0,39}$/i

const OPTIONS: Names<SqliteStoreOptions> = {
  prefix: true,
  journal: true,
  shared: true,
  migrate: true,
  busyMs: true,
  clock: true,
  random: true,
}

/**
 * Fills in the defaults and checks the result.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolveOptions(options: SqliteStoreOptions): SqliteSettings {
  checkNames('sqliteStore()', options, OPTIONS)
  const { prefix = 'reprise_', journal = 'wal', busyMs = 4000 } = options
  if (!PREFIX.test(prefix) || /^sqlite_/i.test(prefix)) {
    throw invalid(
      'prefix must be 1 to 40 letters, digits and underscores, not begin with a digit, and not be sqlite_',
    )
  }
  if (journal !== 'wal' && journal !== 'delete') throw invalid(`journal must be 'wal' or 'delete'`)
  return {
    prefix,
    journal,
    busyMs: whole('busyMs', busyMs, 0),
    shared: options.shared ?? false,
    migrate: options.migrate ?? true,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  }
}
