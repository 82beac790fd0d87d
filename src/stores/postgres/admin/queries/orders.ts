/**
 * Statements by which an operator's order is carried out, and audited, in one transaction.
 *
 * @module
 */

import type { Texts } from '../../work/queries/text.ts'

type OrderVerb =
  | 'begin'
  | 'lock_order'
  | 'find_order'
  | 'lock_record'
  | 'resume'
  | 'suspend'
  | 'forget'
  | 'expire'
  | 'audit_only'
  | 'retry'
  | 'pause'
  | 'unpause'
  | 'run_once'

/** Orders. */
export const ORDERS: Texts<OrderVerb> = {
  /**
   * What every transaction of an operator begins with; $1 how long a statement may take, $2 whether it
   * reads. To compile a statement that looks at a bounded number of rows takes longer than to run it.
   */
  begin: () => `
    select set_config('statement_timeout', $1::text, true),
           set_config('transaction_read_only', $2::text, true),
           set_config('jit', 'off', true)`,

  lock_order: () => `
    select pg_advisory_xact_lock($1::bigint)`,

  find_order: (schema) => `
    select a.action, a.subject, a.answer from ${schema}.audit a where a.order_key = $1`,

  lock_record: (schema) => `
    select true from ${schema}.records r where r.id = $1 for update`,

  resume: (schema) => `
    with changed as
         (update ${schema}.records r set resume_at = clock_timestamp() where r.id = $1)
    ${audited(schema)}`,

  suspend: (schema) => `
    with changed as
         (update ${schema}.records r
             set fence = r.fence + 1, owner = null, lease_until = null
           where r.id = $1)
    ${audited(schema)}`,

  forget: (schema) => `
    with changed as
         (delete from ${schema}.records r where r.id = $1),
         forgotten as
         (delete from ${schema}.attempts a where a.record_id = $1)
    ${audited(schema)}`,

  expire: (schema) => `
    with changed as
         (update ${schema}.records r
             set expires_at  = clock_timestamp(),
                 retention   = case when r.status is null then r.expires_at - r.created_at end,
                 fence       = r.fence + (r.status is null)::integer,
                 owner       = case when r.status is not null then r.owner end,
                 lease_until = null
           where r.id = $1)
    ${audited(schema)}`,

  /** $1 is whom it wakes, if anybody. */
  audit_only: (schema) => audited(schema),

  retry: (schema) => `
    with changed as
         (update ${schema}.staged_jobs j
             set set_aside_at = null, run_at = null, attempts = 0
           where j.number = convert_from($1::bytea, 'UTF8')::bigint)
    ${audited(schema)}`,

  pause: (schema) => `
    with changed as (${steered(schema, 'true, 0', 'is_paused = true')}) ${audited(schema)}`,

  unpause: (schema) => `
    with changed as (${steered(schema, 'false, 0', 'is_paused = false')}) ${audited(schema)}`,

  run_once: (schema) => `
    with changed as (${steered(schema, 'false, 1', 'runs = o.runs + 1')}) ${audited(schema)}`,
}

/** The line of the audit, $2 to $10, and who is woken, $11. */
function audited(schema: string): string {
  return `
  insert into ${schema}.audit as a (
         at, action, subject, author, note, result, answer, caller, ip, order_key)
  values (clock_timestamp(), $2, $3, $4, $5, $6, $7, $8, $9, $10)
  returning ${schema}.notify_waiters($11)::text, $1::bytea is null`
}

/** $1 is the worker's name as bytes, like every first value of a change. */
function steered(schema: string, first: string, set: string): string {
  return `
    insert into ${schema}.worker_orders as o (worker, is_paused, runs, ordered_at)
    values (convert_from($1::bytea, 'UTF8'), ${first}, clock_timestamp())
        on conflict (worker) do update set ${set}, ordered_at = excluded.ordered_at`
}
