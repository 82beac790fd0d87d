/**
 * The statements of staged jobs.
 *
 * @module
 */

import { TRANSACTION } from '../../queries.ts'
import { MS, ms, type Texts } from './text.ts'

/** Since when a job waits to be handed over: nobody who came later goes before it, tried or not. */
const DUE = `coalesce(j.run_at, j.staged_at)`

/** Staged jobs. */
export const JOBS: Texts<'stage' | 'take_jobs' | 'settle_jobs' | 'next_due'> = {
  /**
   * The job of a deduplication key has an id made of it: handed over twice, it is the same job. One
   * that waits already is locked, so that it is not handed over before this commit. $6 is who is
   * woken. Stages nothing outside the transaction that was begun, which is $7.
   */
  stage: (schema) => `
    with staged as
         (insert into ${schema}.staged_jobs as j (
                 staged_at, run_at, job_id, record_id, name, args, dedupe_key)
          select clock_timestamp(), to_timestamp($1::double precision / 1000),
                 case when $5::text is null then gen_random_uuid()
                      else md5(jsonb_build_array($3::text, $5::text)::text)::uuid
                 end, $2, $3, $4, $5
           where ${TRANSACTION} = $7::text
              on conflict (name, dedupe_key) where dedupe_key is not null and set_aside_at is null
              do update set name = j.name
          returning job_id)
  select job_id::text, ${schema}.notify_waiters($6)::text as notified from staged`,

  /** $2: how long a process that froze may keep the jobs; null for ever. */
  take_jobs: (schema) => `
    select j.job_id::text, j.name, j.args, j.attempts + 1 as attempt, ${ms('j.staged_at')} as staged,
           j.number::text as number,
           set_config('idle_in_transaction_session_timeout',
                      coalesce($2::text, current_setting('idle_in_transaction_session_timeout')),
                      true) as idle
      from ${schema}.staged_jobs j
     where j.set_aside_at is null
       and ${DUE} <= (select clock_timestamp())
     order by ${DUE}, j.number
     limit $1
       for update skip locked`,

  /**
   * Removes the jobs with the numbers of $1 and puts those of $2 back, with the errors of $3: until
   * later, or aside after $6 tries. Arrays come as the text of JSON: of a jsonb
   * some libraries would make JSON once more.
   */
  settle_jobs: (schema) => `
    with failed as
         (select f.number::bigint as number, e.error
            from jsonb_array_elements_text($2::text::jsonb) with ordinality f(number, place)
            join jsonb_array_elements_text($3::text::jsonb) with ordinality e(error, place)
           using (place)),
         delivered as
         (delete from ${schema}.staged_jobs j
           using jsonb_array_elements_text($1::text::jsonb) d(number)
           where j.number = d.number::bigint)
  update ${schema}.staged_jobs j
     set attempts     = j.attempts + 1,
         last_error   = failed.error,
         run_at       = clock_timestamp() + least(
                          $4::double precision * power(2, least(j.attempts, 30)),
                          $5::double precision) * ${MS},
         set_aside_at = case when j.attempts + 1 >= $6::integer then clock_timestamp() end
    from failed
   where j.number = failed.number`,

  /** What is locked is being handed over, and not waited for. */
  next_due: (schema) => `
    select greatest(0, ${ms(`${DUE} - clock_timestamp()`)})
      from ${schema}.staged_jobs j
     where j.set_aside_at is null
     order by ${DUE}, j.number
     limit 1
       for key share skip locked`,
}
