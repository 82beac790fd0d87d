/**
 * Walks over the names of all records, page by page, over every primary.
 *
 * `SCAN` looks at every key of the database, also at those that are not ours, in slices of at most a
 * thousand; it never blocks Redis for long, but a whole walk costs as many slices as there are
 * thousands of keys. A record that exists throughout is seen at least once, provided that the servers
 * are not restarted and no hash slot moves meanwhile. While Redis rebuilds its table of keys, a later page
 * may have the record again.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { OPTIONS_INVALID } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import { type Connection, type Primary, primariesOf, reaching } from './client.ts'

/** What to walk over. */
export interface Walk {
  readonly pattern: string
  /** Unfinished records are hashes, finished ones strings; all without. */
  readonly type?: 'hash' | 'string' | undefined
  /** At most this many keys, at least 1. */
  readonly limit: number
}

/** Where a walk goes on. */
export interface Position {
  /** Digest of the primaries' addresses; where they changed, the walk starts anew. */
  readonly servers: string
  /** Index of the primary. */
  readonly server: number
  readonly cursor: string
  /** Keys that Redis gave beyond the limit. */
  readonly left: readonly string[]
}

/** One page of a walk; may be empty before the end. */
export interface KeyPage {
  readonly keys: readonly string[]
  readonly next: Position | null
}

/** How many keys Redis looks at in one slice. */
export const SLICE_KEYS = 1000
/** How many slices without a hit make an empty page, so that a page has a bound. */
const SLICES_MAX = 16

/** The page at `from`, or the first. */
export async function walk(connection: Connection, query: Walk, from?: Position): Promise<KeyPage> {
  return await reaching(async () => {
    const primaries = await primariesOf(connection)
    const servers = digest(primaries)
    const start = { servers, server: 0, cursor: '0', left: [] }
    let at: Position = from?.servers === servers ? from : start
    const page = (keys: readonly string[], next: Position): KeyPage => {
      const left = keys.slice(query.limit)
      const isEnd = next.server === primaries.length && left.length === 0
      return { keys: keys.slice(0, query.limit), next: isEnd ? null : { ...next, left } }
    }
    if (at.left.length > 0) return page(at.left, at)

    let count = Math.max(SLICE_KEYS, query.limit)
    for (let slices = 0; slices < SLICES_MAX; slices++) {
      const primary = primaries[at.server]
      if (primary === undefined) break
      const { keys, cursor } = await scan(primary, { ...query, cursor: at.cursor, count })
      if (keys.length > query.limit && count > query.limit) {
        // Too much for the page: the same place again, in a thinner slice.
        count = query.limit
        continue
      }
      at = cursor === '0' ? { ...start, server: at.server + 1 } : { ...at, cursor }
      if (keys.length > 0) return page(keys, at)
    }
    return page([], at)
  })
}

/** A position as text that means nothing to others. */
export function encodePosition({ servers, server, cursor, left }: Position): string {
  return Buffer.from(JSON.stringify([servers, server, cursor, left])).toString('base64url')
}

/**
 * The position that the text stands for.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function decodePosition(encoded: string): Position {
  try {
    const [servers, server, cursor, left] = JSON.parse(String(Buffer.from(encoded, 'base64url')))
    if (Number.isInteger(server) && Array.isArray(left)) return { servers, server, cursor, left }
  } catch {
    // Not JSON: refused below like anything else that is no position.
  }
  throw new RepriseError(OPTIONS_INVALID, 'Listing goes on from `next` of a page')
}

async function scan(
  primary: Primary,
  query: Omit<Walk, 'limit'> & { readonly cursor: string; readonly count: number },
): Promise<{ cursor: string; keys: readonly string[] }> {
  const type = query.type === undefined ? [] : ['TYPE', query.type]
  const options = ['MATCH', query.pattern, 'COUNT', String(query.count), ...type]
  const reply = await primary.send(['scan', query.cursor, ...options])
  const [cursor, keys] = Array.isArray(reply) ? reply : []
  return { cursor: String(cursor), keys: Array.isArray(keys) ? [...new Set(keys.map(String))] : [] }
}

function digest(primaries: readonly Primary[]): string {
  const addresses = primaries.map(({ address }) => address).join()
  return createHash('sha256').update(addresses).digest('base64url').slice(0, 8)
}
