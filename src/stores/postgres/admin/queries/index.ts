/**
 * Every other statement that operators send.
 *
 * @module
 */

import type { Statement } from '../../client.ts'
import { named, quoted } from '../../queries.ts'
import { letter } from '../../work/queries/letters.ts'
import { MS, ms, type Texts } from '../../work/queries/text.ts'
import { ORDERS } from './orders.ts'

/** What is sent. */
type Verb =
  | keyof typeof ORDERS
  | 'steering'
  | 'workers'
  | 'backlog'
  | 'notes'
  | 'conflicts'
  | 'notes_of'
  | 'jobs'
  | 'jobs_set_aside'
  | 'jobs_of'
  | 'lock_job'
  | 'letters'
  | 'open_letters'
  | 'letter'
  | 'lock_letter'
  | 'settle'
  | 'audit'
  | 'add_notes'
  | 'sweep_notes'

/** The statements of one schema. */
export type DeskQueries = Readonly<Record<Verb, Statement>>

/** The statements on `schema`. */
export function deskQueries(schema: string): DeskQueries {
  const statements = Object.entries(TEXTS).map(([name, text]) => {
    return [name, named(`desk_${name}`, text(quoted(schema)))] as const
  })
  // The names are those of TEXTS.
  return Object.fromEntries(statements) as DeskQueries
}

/** How many rows a page of jobs or notes looks at. */
const SCANNED_MAX = 10_000

function note(d: string): string {
  return `
  ${d}.record_id, ${d}.operation, ${ms(`${d}.at`)}, ${d}.result, ${d}.request_id, ${d}.ip,
  ${d}.user_agent, ${d}.fingerprint`
}

function jobState(j: string): string {
  return `
  case when ${j}.set_aside_at is not null                                   then 'set_aside'
       when coalesce(${j}.run_at, '-infinity') > (select clock_timestamp()) then 'later'
       else                                                                   'waiting'
  end`
}

function job(j: string): string {
  return `
  ${j}.job_id::text, ${j}.record_id, ${j}.name, ${jobState(j)} as state, ${j}.attempts,
  ${ms(`${j}.staged_at`)}, ${ms(`${j}.run_at`)}, ${j}.last_error`
}

/**
 * A page of numbered rows, newest first: those below $1 that match, of at most so many; the last one
 * looked at is given also where it does not match. $2 is how many.
 */
function numbered(from: string, columns: string, matches: string): string {
  return `
    select s.*
      from (select (${matches}) as matches, x.number as position, x.place, ${columns}
              from (select t.*, row_number() over (order by t.number desc) as place
                      from (${from}
                               and ($1::bigint is null or t.number < $1::bigint)
                             order by t.number desc
                             limit ${SCANNED_MAX}) t) x) s
     where s.matches or s.place = ${SCANNED_MAX}
     order by s.position desc
     limit $2::integer`
}

const TEXTS: Texts<Verb> = {
  ...ORDERS,

  steering: (schema) => `
    select o.is_paused, o.runs::integer from ${schema}.worker_orders o where o.worker = $1`,

  workers: (schema) => `
    select w.worker, w.node, w.took_ms, w.done, w.error, ${ms('clock_timestamp() - w.ran_at')},
           w.every_ms
      from ${schema}.workers w
     order by w.worker, w.ran_at desc`,

  /** Each up to $1, of at most so many that are looked at. */
  backlog: (schema) => `
    select (select count(*)::integer
              from (select from ${schema}.staged_jobs j
                     where j.set_aside_at is null
                       and coalesce(j.run_at, j.staged_at) <= (select clock_timestamp())
                     limit $1::integer) due),
           (select count(*)::integer
              from (select r.recovery_point, r.lease_until
                      from ${schema}.records r
                     where r.status is null
                     order by r.created_at desc
                     limit 5 * $1::integer) u
             where u.recovery_point is not null
               and coalesce(u.lease_until <= (select clock_timestamp()), true)),
           (select count(*)::integer
              from (select from ${schema}.records r
                     where r.status is not null and r.expires_at <= (select clock_timestamp())
                     limit $1::integer) due)`,

  /** $3: results with commas between, null for any; $4: digests of callers. */
  notes: (schema) => numberedNotes(schema, 'true'),
  conflicts: (schema) => numberedNotes(schema, `t.result <> 'replayed'`),

  notes_of: (schema) => `
    select ${note('d')}
      from ${schema}.duplicates d
     where d.record_id = $1
     order by d.number desc
     limit $2`,

  /** $3: state or null; $4: callers. */
  jobs: (schema) => numberedJobs(schema, 'true'),
  jobs_set_aside: (schema) => numberedJobs(schema, 't.set_aside_at is not null'),

  jobs_of: (schema) => `
    select ${job('j')} from ${schema}.staged_jobs j where j.record_id = $1 order by j.number limit $2`,

  lock_job: (schema) => `
    select ${job('j')}, j.number::text, r.caller,
           exists (select from ${schema}.staged_jobs o
                    where o.name = j.name and o.dedupe_key = j.dedupe_key
                      and o.set_aside_at is null) as is_staged_again
      from ${schema}.staged_jobs j
      left join ${schema}.records r on r.id = j.record_id
     where j.job_id = $1::uuid and j.set_aside_at is not null
     order by j.number
     limit 1
       for update of j`,

  /** $3: whether settled; $4: callers. */
  letters: (schema) => numberedLetters(schema, 'true'),
  open_letters: (schema) => numberedLetters(schema, 't.settled_at is null'),

  letter: (schema) => `
    select ${letter('d')} from ${schema}.dead_letters d where d.number = $1::bigint`,

  lock_letter: (schema) => `
    select ${letter('d')} from ${schema}.dead_letters d where d.number = $1::bigint for update`,

  settle: (schema) => `
    select ${schema}.settle_letter(
             $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12),
           ${schema}.notify_waiters($13)::text`,

  /** $3: callers. What concerns no caller is seen by all. */
  audit: (schema) =>
    numbered(
      `select t.number, t.at, t.author, t.action, t.subject, t.note, t.result, t.answer, t.ip,
              t.caller
         from ${schema}.audit t where true`,
      `${ms('x.at')}, x.author, x.action, x.subject, x.note, x.result, x.answer, x.ip`,
      `$3::text is null or x.caller is null or ($3::text)::jsonb @> to_jsonb(x.caller)`,
    ),

  add_notes: (schema) => `
    select ${schema}.add_notes($1::text::jsonb, $2::text::jsonb, $3)::text`,

  sweep_notes: (schema) => `
    with moment as materialized
         (select clock_timestamp() - $2::double precision * ${MS} as past),
         notes as
         (delete from ${schema}.duplicates
           where number in (select d.number
                              from ${schema}.duplicates d
                             where d.at < (select past from moment)
                             order by d.number
                             limit $1)
          returning 1),
         counts as
         (delete from ${schema}.duplicate_counts
           where record_id in (select c.record_id
                                 from ${schema}.duplicate_counts c
                                where c.last_at < (select past from moment)
                                limit $1)
          returning 1)
    select greatest((select count(*) from notes), (select count(*) from counts))::integer`,
}

function numberedNotes(schema: string, condition: string): string {
  return numbered(
    `select t.* from ${schema}.duplicates t where ${condition}`,
    note('x'),
    `($3::text is null or x.result = any (string_to_array($3::text, ',')))
     and ($4::text is null or ($4::text)::jsonb @> to_jsonb(x.caller))`,
  )
}

function numberedJobs(schema: string, condition: string): string {
  return numbered(
    `select t.* from ${schema}.staged_jobs t where ${condition}`,
    job('x'),
    `($3::text is null or $3::text = ${jobState('x')})
     and ($4::text is null or ($4::text)::jsonb @> (
            select to_jsonb(r.caller) from ${schema}.records r where r.id = x.record_id))`,
  )
}

function numberedLetters(schema: string, condition: string): string {
  return numbered(
    `select t.* from ${schema}.dead_letters t where ${condition}`,
    letter('x'),
    `($3::boolean is null or $3::boolean = (x.settled_at is not null))
     and ($4::text is null or ($4::text)::jsonb @> to_jsonb(x.caller))`,
  )
}
