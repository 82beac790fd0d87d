import { causesOf } from '../../../core/causes.ts'
import { QUERY_TIMEOUT } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import type { Call, Client, Rows, Session } from '../client.ts'
import { attempt } from '../faults.ts'
import type { Notices } from '../notices.ts'
import type { WorkQueries } from '../work/queries.ts'
import type { DeskQueries } from './queries/index.ts'
import type { WalkQueries } from './queries/walk.ts'

/** What the parts of the desk share. */
export interface DeskParts {
  readonly client: Client<unknown>
  readonly schema: string
  readonly queries: DeskQueries
  readonly walks: WalkQueries
  readonly work: WorkQueries
  readonly notices: Notices
}

/** No statement of an operator may take longer, in milliseconds. */
const STATEMENT_MS_MAX = 5000

/** The server ended a statement that took too long. */
const TIMED_OUT = '57014'

/**
 * Reads in a transaction that can write nothing and whose statements end in time.
 *
 * @throws RepriseError `reprise-query-timeout`, `idempotency-store-unavailable`
 */
export function reading<T>(
  parts: DeskParts,
  work: (ask: (call: Call) => Promise<Rows>) => Promise<T>,
): Promise<T> {
  return inSession(parts, 'on', async (session) => {
    const answer = await work((call) => session.query(call))
    // Nothing was written, so this ends it as well as a commit.
    await session.rollback()
    return answer
  })
}

/** Writes in one transaction; `work` commits it. */
export function writing<T>(
  parts: DeskParts,
  work: (session: Session<unknown>) => Promise<T>,
): Promise<T> {
  return inSession(parts, 'off', work)
}

async function inSession<T>(
  { client, queries }: DeskParts,
  readOnly: 'on' | 'off',
  work: (session: Session<unknown>) => Promise<T>,
): Promise<T> {
  const first = { statement: queries.begin, values: [String(STATEMENT_MS_MAX), readOnly] }
  return attempt('serve an operator', async () => {
    const session = await client.begin({ first, isolation: 'read committed' })
    try {
      return await work(session)
    } catch (error) {
      await session.rollback()
      throw isTimeout(error) ? new RepriseError(QUERY_TIMEOUT, undefined, { cause: error }) : error
    }
  })
}

function isTimeout(error: unknown): boolean {
  return causesOf(error).some((cause) => 'code' in cause && cause.code === TIMED_OUT)
}
