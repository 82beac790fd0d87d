/**
 * The statements of dead letters.
 *
 * @module
 */

import { MS, ms, type Texts, take } from './text.ts'

/** A dead letter's columns, of the table that is called `d`. */
export function letter(d: string): string {
  return `
  ${d}.number::text, ${d}.record_id, ${d}.caller, ${d}.operation, ${d}.key, ${d}.cause, ${d}.point,
  ${d}.error, ${d}.fence, ${d}.tries, ${d}.input, ${d}.state, ${d}.request_id, ${d}.ip,
  ${d}.user_agent, ${d}.history::text, ${ms(`${d}.created_at`)} as created,
  ${ms(`${d}.buried_at`)} as buried, ${ms(`${d}.settled_at`)} as settled, ${d}.settlement,
  ${d}.author, ${d}.note`
}

const LETTER = letter('d')

type LetterVerb =
  | 'take_abandoned'
  | 'bury'
  | 'take_untold'
  | 'told'
  | 'bury_unknown'
  | 'find_letter'
  | 'list_letters'
  | 'settle_letter'
  | 'sweep_letters'

/** Dead letters. */
export const LETTERS: Texts<LetterVerb> = {
  take_abandoned: (schema) => take(schema, `u.expires_at <= (select moment from clock)`),

  bury: (schema) => `
    select ${schema}.bury($1, $2, $3, $4, $5, $6, $7, $8)`,

  /** $1 the operations that are known here, as the text of JSON; $2 lease. */
  take_untold: (schema) => `
    update ${schema}.dead_letters d
       set tell_after = clock_timestamp() + $2::double precision * ${MS}
     where d.number = (select u.number
                         from ${schema}.dead_letters u
                        where u.tell_after <= (select clock_timestamp())
                          and u.operation in (select jsonb_array_elements_text($1::text::jsonb))
                        order by u.number
                        limit 1
                          for update skip locked)
    returning ${LETTER}`,

  told: (schema) => `
    update ${schema}.dead_letters d
       set tell_after = null, error = coalesce(d.error, $2)
     where d.number = $1`,

  bury_unknown: (schema) => `
    select ${schema}.bury_unknown($1, $2, $3)`,

  find_letter: (schema) => `
    select ${LETTER} from ${schema}.dead_letters d where d.number = $1`,

  list_letters: (schema) => `
    select ${LETTER}
      from ${schema}.dead_letters d
     where ($2::bigint is null or d.number < $2::bigint)
       and ($3::boolean is null or $3::boolean = (d.settled_at is not null))
     order by d.number desc
     limit $1`,

  settle_letter: (schema) => `
    select ${schema}.settle_letter($1, $2, $3, $4, $5, $6, $7, $8, $9, null, null, '')`,

  /** What the app is still to be told of is told with its input. */
  sweep_letters: (schema) => `
    with swept as
         (update ${schema}.dead_letters
             set input = null, state = null
           where number in (
                 select d.number
                   from ${schema}.dead_letters d
                  where d.settled_at is not null and d.input is not null
                    and d.tell_after is null
                    and not exists (select
                                      from ${schema}.records r
                                     where r.id = d.record_id and r.created_at = d.created_at)
                  limit $1)
          returning 1)
  select count(*)::integer from swept`,
}
