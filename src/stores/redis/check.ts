/**
 * The check at start: whether this Redis keeps what it is told.
 *
 * Only `INFO` is asked, which says all that is needed, also where `CONFIG` is forbidden.
 *
 * @module
 */

import { STORE_UNSAFE } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import { type Connection, type Primary, primariesOf } from './client.ts'
import type { OnUnsafe } from './options.ts'

/** `SET … PXAT` came with 6.2. */
const VERSION_MIN = [6, 2] as const

/**
 * Looks at every primary and acts on what it finds as `onUnsafe` says.
 *
 * @throws RepriseError `reprise-store-unsafe`, `idempotency-store-unavailable`
 */
export async function checkSafety(connection: Connection, onUnsafe: OnUnsafe): Promise<void> {
  const primaries = await primariesOf(connection)
  const reports = await Promise.all(primaries.map(async (primary) => report(await ask(primary))))

  for (const [index, { unusable, unsafe }] of reports.entries()) {
    const where = primaries.length === 1 ? 'Redis' : `Redis at ${primaries[index]?.address}`
    if (unusable !== null) throw new RepriseError(STORE_UNSAFE, `${where} ${unusable}`)
    if (unsafe.length === 0 || onUnsafe === 'ignore') continue
    const detail = `${where} can forget records: ${unsafe.join('; ')}`
    if (onUnsafe === 'refuse') throw new RepriseError(STORE_UNSAFE, detail)
    process.emitWarning(detail, { type: 'RepriseWarning', code: 'REPRISE_STORE_UNSAFE' })
  }
}

/** What a server says about itself; `null` where it does not, as under a narrow ACL. */
async function ask(primary: Primary): Promise<ReadonlyMap<string, string> | null> {
  try {
    const lines = String(await primary.send(['info'])).split('\r\n')
    return new Map(lines.map((line) => split(line)))
  } catch {
    return null
  }
}

interface Report {
  /** Why no record can be written here at all; `null` if it can. */
  readonly unusable: string | null
  /** Each a setting that can lose records, and how to change it. */
  readonly unsafe: readonly string[]
}

function report(info: ReadonlyMap<string, string> | null): Report {
  if (info === null) {
    return { unusable: null, unsafe: ['its settings are unknown, because it refuses INFO'] }
  }
  return {
    unusable: unusable(info.get('role'), info.get('redis_version')),
    unsafe: [appendonly(info.get('aof_enabled')), policy(info.get('maxmemory_policy'))].filter(
      (setting) => setting !== null,
    ),
  }
}

function unusable(role: string | undefined, version: string | undefined): string | null {
  if (role === 'slave') return 'is a replica; connect to its primary'
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  const [majorMin, minorMin] = VERSION_MIN
  const isOld = major < majorMin || (major === majorMin && minor < minorMin)
  return version !== undefined && isOld ? `is version ${version}; 6.2 or later is needed` : null
}

function appendonly(enabled: string | undefined): string | null {
  if (enabled === '1') return null
  if (enabled === undefined) return 'whether appendonly is on is unknown'
  return 'appendonly is no, so a crash loses what came after the last snapshot (CONFIG SET appendonly yes)'
}

function policy(value: string | undefined): string | null {
  if (value === 'noeviction') return null
  if (value === undefined) return 'what maxmemory-policy is set to is unknown'
  return `maxmemory-policy is ${value}, so a full memory drops records (CONFIG SET maxmemory-policy noeviction)`
}

function split(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1)]
}
