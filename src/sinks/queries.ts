/**
 * The statements of sinks whose queue lives in the same database.
 *
 * @module
 */

/**
 * Adds a job to the queue of graphile-worker in `schema`. The row that `add_job` gives is of a type
 * that not every ORM can read.
 */
export function addJob(schema: string): string {
  return `
    select true as is_added from ${identifier(schema)}.add_job(
             identifier   => $1::text,
             payload      => $2::text::json,
             job_key      => $3::text,
             queue_name   => $4::text,
             max_attempts => $5::integer,
             priority     => $6::integer)`
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
