/**
 * Lists of requests: each walks one index, newest first, and looks at a bounded number of records.
 * What a filter leaves of them is the page; where it ended early, the page says where to go on.
 *
 * All of them take the same values, whatever they use: {@link walkValues}.
 *
 * @module
 */

import { keyDigest } from '../../../../core/identity.ts'
import type { DeskFilter, DeskView } from '../../../../engine/desk.ts'
import type { Statement, Value } from '../../client.ts'
import { quoted } from '../../queries.ts'
import { pack } from '../../record.ts'

/**
 * Which index is walked:
 * - `created`: all of them.
 * - `open`: those without an answer.
 * - `oldest`: the same, the oldest first; only to count.
 * - `failed`: those with an answer of 400 or more.
 * - `letters`: those with an open dead letter.
 * - `expired`: finished ones past their retention, by when they expired.
 * - `key`: those with one key, by the beginning of their ids.
 * - `id`: the one that the cursor names.
 */
export type Driver = 'created' | 'open' | 'oldest' | 'failed' | 'letters' | 'expired' | 'key' | 'id'

/** How many records a page looks at. */
const SCANNED_MAX = 10_000

/** Where to go on. */
export interface Position {
  /** Microseconds since 1970. */
  readonly at: string
  readonly id: string
}

/** Values of every statement of this file. */
export function walkValues(
  view: DeskView,
  filter: DeskFilter,
  { after, limit }: { readonly after: Position | null; readonly limit: number },
): readonly Value[] {
  const { states, key, keyPrefix, operation, caller, recoveryPoint, status, requestId } = filter
  return [
    ...[after?.at ?? null, after === null ? null : pack(after.id), limit],
    ...[view.graceMs, JSON.stringify(view.gracesMs)],
    view.callers === null ? null : JSON.stringify(view.callers),
    ...[states?.join(',') ?? null, operation ?? null, caller ?? null, key ?? null],
    ...[keyPrefix ?? null, recoveryPoint ?? null, status ?? null, requestId ?? null],
    ...[filter.olderThanMs ?? null, filter.duplicatesMin ?? null],
    key === undefined ? null : Buffer.from(keyDigest(key), 'base64url'),
    filter.hasPoint ?? null,
  ]
}

/**
 * One page. The first columns are whether the record matches, whether it is the last that was looked
 * at, which is given also where it does not match, and its position.
 */
function pageQuery(schema: string, driver: Driver): Statement {
  const text = `
    ${CLOCK}
  select s.matches, s.place = ${SCANNED_MAX},
         (extract(epoch from s.at) * 1000000)::bigint::text, ${columns(schema)}
    from (select w.*, l.letter, t.state, (${matches(schema)}) as matches
            from (select x.*, row_number() over (order by x.at desc, x.id desc) as place
                    from (${walked(schema, driver, { limit: SCANNED_MAX, isOrdered: true })}) x) w
                 ${standing(schema)}
         ) s
   where s.matches or s.place = ${SCANNED_MAX}
   order by s.at desc, s.id desc
   limit $3::integer`
  // Without a name it is planned for its values.
  return { name: '', text }
}

/** How many of each state are among the first `scanned`, until $3 of them match. */
function countQuery(schema: string, driver: Driver, scanned: number): Statement {
  const text = `
    ${CLOCK}
  select s.state, count(*)::integer
    from (select t.state
            from (${walked(schema, driver, { limit: scanned, isOrdered: false })}) w
            left join (select distinct d.record_id, d.created_at
                         from ${schema}.dead_letters d
                        where d.settled_at is null) l
              on w.status is null and l.record_id = w.id and l.created_at = w.created_at
            cross join lateral (select ${state('l.record_id')} as state) t
           where ${matches(schema)}
           limit $3::integer) s
   group by s.state`
  return { name: '', text }
}

const MS = `interval '1 millisecond'`

const CLOCK = `with clock as materialized (select clock_timestamp() as moment)`

const FROM_CURSOR = `'epoch'::timestamptz + $1::bigint * interval '1 microsecond'`

/** Ids of one key begin alike, and are 32 bytes long. */
function hasKey(id: string): string {
  return `${id} between $17::bytea and $17::bytea || decode(repeat('ff', 23), 'hex')`
}

/** What is read of a record; what is sealed stays where it is. */
const READ = `
  r.caller, r.operation, r.key, r.fingerprint, r.fence, r.owner, r.lease_until,
  r.recovery_point, r.status, r.resource_type, r.resource_id, r.request_id, r.ip, r.user_agent,
  r.created_at, r.finished_at, r.expires_at, r.tried_at, r.tries, r.resume_at, r.driven_fence`

/** How many duplicates of a record were noted. */
function duplicates(schema: string, id: string): string {
  return `coalesce((select c.count from ${schema}.duplicate_counts c where c.record_id = ${id}), 0)`
}

/** What is given of a record that matches. */
function columns(schema: string): string {
  return `
  s.id, s.caller, s.operation, s.key, s.fingerprint, s.fence, s.owner, ${ms('s.lease_until')},
  s.recovery_point, s.status, s.resource_type, s.resource_id, s.request_id, s.ip, s.user_agent,
  ${ms('s.created_at')}, ${ms('s.finished_at')}, ${ms('s.expires_at')}, ${ms('s.tried_at')},
  coalesce(s.tries, 0), ${ms('s.resume_at')}, ${duplicates(schema, 's.id')}, s.letter::text,
  s.state, (select ${ms('moment')} from clock)`
}

function matches(schema: string): string {
  return `
      w.created_at is not null
  and ($6::text is null or ($6::text)::jsonb @> to_jsonb(w.caller))
  and ($7::text is null or t.state = any (string_to_array($7::text, ',')))
  and ($8::text is null or w.operation = $8::text)
  and ($9::text is null or w.caller = $9::text)
  and ($10::text is null and $17::bytea is null or w.key = $10::text)
  and ($11::text is null or starts_with(w.key, $11::text))
  and ($12::text is null or w.recovery_point = $12::text)
  and ($18::boolean is null or (w.recovery_point is not null) = $18::boolean)
  and ($13::integer is null or w.status = $13::integer)
  and ($14::text is null or w.request_id = $14::text)
  and ($15::double precision is null
       or w.created_at <= (select moment from clock) - $15::double precision * ${MS})
  and ($16::integer is null or ${duplicates(schema, 'w.id')} >= $16::integer)`
}

function ms(instant: string): string {
  return `extract(epoch from ${instant})::double precision * 1000`
}

/** The end of the walk: behind the cursor, and not younger than asked for. */
function behind(at: string, id: string, youngest = 'coalesce($15::double precision, 0)'): string {
  return `
    ${at} <= least(${FROM_CURSOR}, (select moment from clock) - ${youngest} * ${MS})
    and ($1::bigint is null or (${at}, ${id}) < (${FROM_CURSOR}, $2::bytea))`
}

/** How much of an index is walked; where nothing goes on from there, ties need no order. */
interface Reach {
  readonly limit: number
  readonly isOrdered: boolean
}

/** The records of an index. `at` is what they are ordered by. */
function walked(schema: string, driver: Driver, { limit, isOrdered }: Reach): string {
  const order = (at: string, id: string) => `${at} desc${isOrdered ? `, ${id} desc` : ''}`
  const by = (at: string, condition: string, youngest?: string) => `
    select ${at} as at, r.id, ${READ}
      from ${schema}.records r
     where ${condition} and ${behind(at, 'r.id', youngest)}
     order by ${order(at, 'r.id')}
     limit ${limit}`
  switch (driver) {
    case 'created':
      return by('r.created_at', 'true')
    case 'open':
      return by('r.created_at', 'r.status is null')
    case 'oldest':
      return `
    select r.created_at as at, r.id, ${READ}
      from ${schema}.records r
     where r.status is null and $1::bigint is null and $2::bytea is null
     order by r.created_at
     limit ${limit}`
    case 'failed':
      return by('r.created_at', 'r.status >= 400')
    case 'key':
      return by('r.created_at', hasKey('r.id'))
    case 'expired':
      return by('r.expires_at', 'r.status is not null', '0')
    case 'id':
      return `
    select r.created_at as at, r.id, ${READ}
      from ${schema}.records r
     where r.id = $2::bytea and $1::bigint is null`
    case 'letters':
      return `
    select d.created_at as at, d.record_id as id, ${READ}
      from (select distinct d.created_at, d.record_id
              from ${schema}.dead_letters d
             where d.settled_at is null and ${behind('d.created_at', 'd.record_id')}
             order by ${order('d.created_at', 'd.record_id')}
             limit ${limit}) d
      left join ${schema}.records r on r.id = d.record_id and r.created_at = d.created_at`
  }
}

/** Adds `letter` and `state` to the records of `w`, one by one, as far as they are read. */
function standing(schema: string): string {
  return `
            cross join lateral (
                 select case when w.status is null then (
                          select d.number
                            from ${schema}.dead_letters d
                           where d.record_id = w.id and d.created_at = w.created_at
                             and d.settled_at is null
                           limit 1) end as letter
                 offset 0) l
            cross join lateral (select ${state('l.letter')} as state offset 0) t`
}

function state(letter: string): string {
  return `case
                   when w.expires_at <= (select moment from clock) then 'expired'
                   when w.status >= 400                            then 'failed'
                   when w.status is not null                       then 'finished'
                   when ${letter} is not null                      then 'needs_person'
                   when w.lease_until > (select moment from clock)
                    and w.driven_fence = w.fence                   then 'recovering'
                   when w.lease_until > (select moment from clock) then 'running'
                   when w.created_at <= (select moment from clock) - ${MS} * coalesce(
                          (($5::text)::jsonb ->> w.operation)::double precision,
                          $4::double precision)                    then 'stuck'
                   else                                                 'unfinished'
                 end`
}

/** The statements of one schema. */
export interface WalkQueries {
  page(driver: Driver): Statement
  count(driver: Driver, scanned: number): Statement
}

/** The statements on `schema`. */
export function walkQueries(schema: string): WalkQueries {
  const at = quoted(schema)
  return {
    page: (driver) => pageQuery(at, driver),
    count: (driver, scanned) => countQuery(at, driver, scanned),
  }
}
