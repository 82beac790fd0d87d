/**
 * A record as a row.
 *
 * @module
 */

import type { KeyRecord, Resource, SealedResponse } from '../../core/record.ts'
import type { SqliteValue } from './client.ts'

/** Every column, with the value that a record puts there. */
const COLUMNS = {
  id: (record) => record.id,
  caller: (record) => record.caller,
  operation: (record) => record.operation,
  key: (record) => record.key,
  fingerprint: (record) => record.fingerprint,
  fence: (record) => record.fence,
  owner: (record) => record.owner,
  lease_until: (record) => instant(record.leaseUntil),
  recovery_point: (record) => record.recoveryPoint,
  state: (record) => blob(record.state),
  input: (record) => blob(record.input),
  response_status: (record) => record.response?.status ?? null,
  response_sealed: (record) => blob(record.response?.sealed ?? null),
  resource_type: (record) => record.resource?.type ?? null,
  resource_id: (record) => record.resource?.id ?? null,
  request_id: (record) => record.origin.requestId,
  ip: (record) => record.origin.ip,
  user_agent: (record) => record.origin.userAgent,
  created_at: (record) => instant(record.createdAt),
  finished_at: (record) => instant(record.finishedAt),
  expires_at: (record) => instant(record.expiresAt),
} as const satisfies Readonly<Record<string, (record: KeyRecord) => SqliteValue>>

/** The columns, in the order of {@link valuesOf}. */
export const COLUMN_NAMES: readonly string[] = Object.keys(COLUMNS)

/** What the columns hold for a record. */
export function valuesOf(record: KeyRecord): readonly SqliteValue[] {
  return Object.values(COLUMNS).map((value) => value(record))
}

/** Integers are big ones when the user's handle is set to read them so. */
type Integer = number | bigint
/** `node:sqlite` gives the first, better-sqlite3 a `Buffer`, libsql the second. */
type Bytes = Uint8Array | ArrayBuffer

/** A row of the table of records. */
export interface RecordRow {
  readonly id: string
  readonly caller: string
  readonly operation: string
  readonly key: string
  readonly fingerprint: string
  readonly fence: Integer
  readonly owner: string | null
  readonly lease_until: Integer | null
  readonly recovery_point: string | null
  readonly state: Bytes | null
  readonly input: Bytes | null
  readonly response_status: Integer | null
  readonly response_sealed: Bytes | null
  readonly resource_type: string | null
  readonly resource_id: string | null
  readonly request_id: string | null
  readonly ip: string | null
  readonly user_agent: string | null
  readonly created_at: Integer
  readonly finished_at: Integer | null
  readonly expires_at: Integer
}

/** The record that a row stands for. */
export function recordOf(row: RecordRow): KeyRecord {
  const { id, caller, operation, key, fingerprint, owner } = row
  return {
    ...{ id, caller, operation, key, fingerprint, owner },
    fence: Number(row.fence),
    leaseUntil: number(row.lease_until),
    recoveryPoint: row.recovery_point,
    state: bytes(row.state),
    input: bytes(row.input),
    response: responseOf(row),
    resource: resourceOf(row),
    origin: { requestId: row.request_id, ip: row.ip, userAgent: row.user_agent },
    createdAt: Number(row.created_at),
    finishedAt: number(row.finished_at),
    expiresAt: Number(row.expires_at),
  }
}

function responseOf(row: RecordRow): SealedResponse | null {
  const sealed = bytes(row.response_sealed)
  if (row.response_status === null || sealed === null) return null
  return { status: Number(row.response_status), sealed }
}

function resourceOf({ resource_type: type, resource_id: id }: RecordRow): Resource | null {
  return type === null || id === null ? null : { type, id }
}

/** Durations may have fractions; the columns are whole milliseconds. */
function instant(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms)
}

/** No bytes, in a buffer that has one: without memory behind it, some clients bind null instead. */
const NO_BYTES = new Uint8Array(1).subarray(0, 0)

function blob(value: Uint8Array | null): Uint8Array | null {
  return value?.byteLength === 0 ? NO_BYTES : value
}

function number(value: Integer | null): number | null {
  return value === null ? null : Number(value)
}

/** A plain view, so that callers see the same class from every client. */
function bytes(value: Bytes | null): Uint8Array | null {
  if (value === null) return null
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}
