/**
 * What the statements have in common.
 *
 * @module
 */

/** Statements by name, each made for the schema that it is to work on. */
export type Texts<Name extends string = string> = Readonly<Record<Name, (schema: string) => string>>

/** A millisecond. */
export const MS = `interval '1 millisecond'`

/** An instant as milliseconds since 1970. */
export function ms(instant: string): string {
  return `extract(epoch from ${instant})::double precision * 1000`
}

const TAKEN = `
  r.id, r.caller, r.operation, r.key, r.fingerprint, r.fence, r.recovery_point, r.state, r.input,
  r.request_id, r.ip, r.user_agent, r.tries`

/** Takes the record that `chosen` selects as its next holder; $1 owner, $2 lease, $3 retention. */
export function take(schema: string, chosen: string): string {
  return `
    with clock as materialized (select clock_timestamp() as moment)
  update ${schema}.records r
     set fence       = r.fence + 1,
         owner       = $1,
         lease_until = clock.moment + $2::double precision * ${MS},
         expires_at  = greatest(r.expires_at, clock.moment + $3::double precision * ${MS}),
         tried_at    = clock.moment,
         tries       = coalesce(r.tries, 0) + 1,
         driven_fence = r.fence + 1,
         resume_at   = null
    from clock
   where r.id = (select u.id
                   from ${schema}.records u
                  where u.status is null
                    and (u.lease_until is null or u.lease_until <= (select moment from clock))
                    and ${chosen}
                  order by u.created_at
                  limit 1
                    for update skip locked)
  returning ${TAKEN}`
}
