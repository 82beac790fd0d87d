/**
 * The statements of bulk actions.
 *
 * @module
 */

import type { Statement } from '../../client.ts'
import { named, quoted } from '../../queries.ts'

/** The statements of one schema. */
export type BatchQueries = Readonly<Record<keyof typeof TEXTS, Statement>>

/** The statements on `schema`. */
export function batchQueries(schema: string): BatchQueries {
  const statements = Object.entries(TEXTS).map(([name, text]) => {
    return [name, named(`batch_${name}`, text(quoted(schema)))] as const
  })
  // The names are those of TEXTS.
  return Object.fromEntries(statements) as BatchQueries
}

const TEXTS = {
  /** Ids as hex in $9, versions in $10: the texts of JSON arrays. */
  begin: (schema: string) => `
    with begun as
         (insert into ${schema}.batches (
                 batch, begun_at, action, author, note, ip, order_key, is_confirmed, is_over)
          values ($1, clock_timestamp(), $2, $3, $4, $5, $6, $7, $9::text = '[]')
              on conflict (order_key) do nothing
          returning batch),
         items as
         (insert into ${schema}.batch_items (batch, place, record_id, version)
          select begun.batch, i.place - 1, decode(i.id, 'hex'), v.version
            from begun,
                 jsonb_array_elements_text($9::text::jsonb) with ordinality i(id, place)
            join jsonb_array_elements_text($10::text::jsonb) with ordinality v(version, place)
           using (place)),
         audited as
         (insert into ${schema}.audit (at, action, subject, author, note, answer, ip)
          select clock_timestamp(), 'batch ' || $2::text, 'batch ' || begun.batch, $3, $4, $8, $5
            from begun)
    select begun.batch from begun`,

  by_order: (schema: string) => `
    select b.batch from ${schema}.batches b where b.order_key = $1`,

  find: (schema: string) => `
    select b.batch, b.action, b.author, b.note, b.ip, b.is_confirmed, b.is_cancelled,
           (select count(*)::integer from ${schema}.batch_items i where i.batch = b.batch)
      from ${schema}.batches b
     where b.batch = $1`,

  results: (schema: string) => `
    select i.record_id, i.result
      from ${schema}.batch_items i
     where i.batch = $1 and i.result is not null
     order by i.place`,

  pending: (schema: string) => `
    select i.place, i.record_id, i.version
      from ${schema}.batch_items i
      join ${schema}.batches b on b.batch = i.batch and not b.is_cancelled
     where i.batch = $1 and i.result is null
     order by i.place
     limit $2`,

  settle: (schema: string) => `
    with settled as
         (update ${schema}.batch_items i
             set result = $3
           where i.batch = $1 and i.place = $2::integer and i.result is null)
  update ${schema}.batches b
     set is_over = true
   where b.batch = $1
     and not exists (select from ${schema}.batch_items i
                      where i.batch = $1 and i.result is null and i.place <> $2::integer)`,

  cancel: (schema: string) => `
    with cancelled as
         (update ${schema}.batches b
             set is_cancelled = true, is_over = true
           where b.batch = $1 and not b.is_over
          returning b.batch)
  insert into ${schema}.audit (at, action, subject, author, note, answer, ip)
  select clock_timestamp(), $2, $3, $4, $5,
         count(i.result) || ' of ' || count(*) || ' were over.', $6
    from cancelled c
    join ${schema}.batch_items i on i.batch = c.batch
  having count(*) > 0`,

  unfinished: (schema: string) => `
    select b.batch from ${schema}.batches b where not b.is_over order by b.begun_at limit 100`,
}
