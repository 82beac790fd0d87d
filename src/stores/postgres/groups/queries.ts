/**
 * The statements of what is asked for together.
 *
 * @module
 */

/**
 * What is asked for together, $1, as rows in the order of their ids: so no two groups wait for each other.
 * Nor for one that somebody else holds for long, before it is sent by itself. The value is cast twice
 * because some libraries make JSON of what is to be JSON.
 */
const ASKED = (columns: string): string => `
    with asked as materialized
         (select ${columns}, clock.moment, place, set_config('lock_timeout', '100', true)
            from json_array_elements($1::text::json) with ordinality as elements (row, place),
                 (select clock_timestamp() as moment offset 0) clock
           order by 1)`

/**
 * Makes what has no record yet, and gives ids and owners of those, one by one in a text: the others are
 * to ask by themselves. Nobody waits for the disk where none of them has to, as in `claim`.
 */
export const claimMany = (schema: string): string => `
  ${ASKED(`decode(row->>0, 'hex') as id, decode(row->>1, 'hex') as owner,
                 (row->>6)::double precision * interval '1 millisecond' as lease,
                 (row->>7)::double precision * interval '1 millisecond' as kept,
                 (row->>13)::boolean as writes_first, row`)},
         made as
         (insert into ${schema}.records (
                 created_at, expires_at, lease_until, fence, id, caller, operation, key,
                 fingerprint, owner, recovery_point, input, request_id, ip, user_agent)
          select moment, moment + kept, moment + lease, 1, id, row->>2, row->>3, row->>4,
                 decode(row->>5, 'hex'), owner, row->>8, decode(row->>9, 'hex'), row->>10, row->>11,
                 row->>12
            from asked
              on conflict (id) do nothing
          returning id, owner)
  select string_agg(encode(id, 'hex') || ' ' || encode(owner, 'hex'), ','),
         case when (select bool_and(writes_first) from asked)
              then set_config('synchronous_commit', 'off', true) end
    from made`

/** Whether each was carried out, as `finish` tells it, in the order in which they were asked for. */
export const finishMany = (schema: string): string => `
  ${ASKED(`decode(row->>0, 'hex') as id, row`)}
  select string_agg(is_done::integer::text, '' order by place)
    from (select place,
                 ${schema}.finish(id, decode(row->>1, 'hex'), (row->>2)::integer, (row->>3)::smallint,
                   decode(row->>4, 'hex'), row->>5, row->>6, (row->>7)::double precision) as is_done
            from asked offset 0) finished`
