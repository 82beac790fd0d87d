import type { Client } from '../client.ts'
import type { Notices } from '../notices.ts'
import type { WorkQueries } from './queries.ts'

/** What the parts of the work store share. */
export interface WorkParts<Tx> {
  readonly client: Client<Tx>
  readonly queries: WorkQueries
  readonly schema: string
  readonly notices: Notices
  /** Wakes who waits for the record in this process. */
  wake(id: string): void
}
