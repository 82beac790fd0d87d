/**
 * Every statement that the store's verbs send.
 *
 * The database's clock decides: `clock_timestamp()`, read once per statement. Where it has to meet
 * an index it stands in a subselect, because a volatile function can not be looked up. Never
 * `statement_timestamp()` where a statement may have waited for a lock before it looks at the clock.
 *
 * What is sent in transactions of the app may go through an ORM, which gives columns by name: there
 * each has a name of its own, and a type that every library knows, which `void` is not.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Statement } from './client.ts'
import { claimMany, finishMany } from './groups/queries.ts'

/** The statements of one schema. */
export interface Queries {
  readonly claim: Statement
  readonly claimMany: Statement
  readonly renew: Statement
  readonly advance: Statement
  readonly finish: Statement
  readonly finishMany: Statement
  readonly release: Statement
  readonly find: Statement
  readonly list: Statement
  readonly listUnfinished: Statement
  readonly sweep: Statement
  readonly stats: Statement
  readonly wait: Statement
  readonly look: Statement
  readonly lookInQuota: Statement
  readonly lookAndTry: Statement
  readonly beginTransaction: Statement
  readonly beginInQuota: Statement
  readonly beginOrFail: Statement
  readonly storeFinished: Statement
}

/** Says nothing but that somebody is there. */
export const keepAlive: Statement = { name: '', text: 'select 1' }

/** The number of the transaction in which it is sent. */
export const transactionNumber: Statement = {
  name: 'reprise_transaction_number',
  text: 'select pg_current_xact_id()::text as number',
}

/** `committed`, `aborted` or `in progress`; null for a transaction that is long over. */
export const transactionStatus: Statement = {
  name: 'reprise_transaction_status',
  text: 'select pg_xact_status($1::text::xid8)',
}

/**
 * The statement, whose rows have the transaction's number behind their own columns. Only for those that
 * are one `select` or `insert`, which the textual ones are: to send another statement would be a flight.
 */
export function numbered({ name, text }: Statement): Statement {
  return {
    name: `${name}_n`,
    text: `
  with stored as (${text})
  select stored.*, pg_current_xact_id()::text as transaction_number from stored`,
  }
}

/** A schema's name as it stands in SQL. */
export function quoted(schema: string): string {
  return `"${schema}"`
}

/** The channel of a schema's notifications. */
export function channelOf(schema: string): string {
  return `reprise_${digest(schema)}`
}

/** The statements on `schema`, whose name was checked by `resolveOptions`. */
export function queries(schema: string): Queries {
  const at = quoted(schema)
  return {
    ...{ claim: named('claim', claim(at)), renew: named('renew', renew(at)) },
    claimMany: named('claim_many', claimMany(at)),
    finishMany: named('finish_many', finishMany(at)),
    ...{ advance: named('advance', advance(at)), finish: named('finish', finish(at)) },
    ...{ release: named('release', release(at)), find: named('find', find(at)) },
    list: named('list', list(`${at}.records`)),
    listUnfinished: named('list_unfinished', list(unfinished(at))),
    sweep: named('sweep', sweep(at)),
    ...{ stats: named('stats', stats(at)), wait: named('wait', wait(at)) },
    ...{ look: textual('look', look(at)), lookInQuota: textual('look_in_quota', lookInQuota(at)) },
    lookAndTry: textual('look_and_try', lookAndTry(at)),
    beginTransaction: textual('begin_transaction', beginTransaction(at)),
    beginInQuota: textual('begin_in_quota', beginInQuota(at)),
    beginOrFail: textual('begin_or_fail', beginOrFail(at)),
    storeFinished: textual('store_finished', storeFinished(at)),
  }
}

/**
 * A statement with a name. Statements of the same name on two schemas can meet on one connection: the
 * text is in the name.
 */
export function named(verb: string, text: string): Statement {
  return { name: `reprise_${verb}_${digest(text)}`, text }
}

/** One that answers in texts alone. */
export function textual(verb: string, text: string): Statement {
  return { ...named(verb, text), isTextual: true }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

/** Each column costs client libraries more than all of its bytes: what is rare shares one. */
const ANSWER = (schema: string) => `
  case when (c.a).outcome in ('execute', 'resume', 'recover') then (c.a).outcome
       else ${schema}.told(c.a) end,
  (c.a).fresh, (c.a).fence, (c.a).abandoned, (c.a).recovery_point, (c.a).state, (c.a).input`

/** Which transaction this is: constant until its end, and never the same in the next one. */
export const TRANSACTION = `extract(epoch from transaction_timestamp())::text`

const STANDING = `
  case when r.expires_at <= clock.moment then 'expired'
       when r.status is not null         then 'finished'
       when r.lease_until > clock.moment then 'running'
       when r.recovery_point is null     then 'unknown'
       else                                   'suspended'
  end`

const RECORD = `
  r.id, r.caller, r.operation, r.key, r.fingerprint, r.fence, r.owner, ${ms('r.lease_until')},
  r.recovery_point, r.state, r.input, r.status, r.response, r.resource_type, r.resource_id,
  r.request_id, r.ip, r.user_agent, ${ms('r.created_at')}, ${ms('r.finished_at')},
  ${ms('r.expires_at')}, ${STANDING} as standing`

function ms(instant: string): string {
  return `extract(epoch from ${instant})::double precision * 1000`
}

/**
 * Nobody waits for the disk for a new record under which something is written before anything begins
 * ($18): with that the claim is on the disk as well. Not from the function itself, whose rows would be
 * kept before they are read.
 */
const claim = (schema: string) => `
  select ${ANSWER(schema)}
    from (select ${schema}.claim(
                   $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) as a
          offset 0) c
   where case when (c.a).fresh and not (c.a).abandoned and $18::boolean
              then set_config('synchronous_commit', 'off', true) = 'off' else true end`

const renew = (schema: string) => `
    with lease as materialized
         (select clock_timestamp() + $4::double precision * interval '1 millisecond' as until)
  update ${schema}.records r
     set lease_until = lease.until,
         expires_at  = greatest(r.expires_at, lease.until)
    from lease
   where r.id = $1 and r.owner = $2 and r.fence = $3 and r.status is null
  returning true`

const advance = (schema: string) => `
    with lease as materialized
         (select clock_timestamp() + $4::double precision * interval '1 millisecond' as until)
  update ${schema}.records r
     set lease_until    = lease.until,
         expires_at     = greatest(r.expires_at, lease.until),
         recovery_point = $5,
         state          = $6
    from lease
   where r.id = $1 and r.owner = $2 and r.fence = $3 and r.status is null
  returning true`

const finish = (schema: string) => `
  select ${schema}.finish($1, $2, $3, $4, $5, $6, $7, $8)`

const release = (schema: string) => `
  select ${schema}.release($1, $2, $3, $4)`

const find = (schema: string) => `
  select ${RECORD}
    from ${schema}.records r,
         (select clock_timestamp() as moment) clock
   where r.id = $1`

/**
 * One page of those after $1 ($4: which standing, $5: which caller, $6: which operation; null for
 * any). At most $3 records are looked at and $2 given; `scanned` is the last one looked at, and null
 * when there are no more.
 */
const list = (records: string) => `
    with reach as materialized
         (select (select r.id
                    from ${records} r
                   where r.id > $1
                   order by r.id
                  offset $3::integer - 1
                   limit 1) as scanned)
  select reach.scanned, page.*
    from reach
    left join lateral (
         select ${RECORD}
           from ${records} r,
                (select clock_timestamp() as moment) clock
          where r.id > $1
            and (reach.scanned is null or r.id <= reach.scanned)
            and ($4::text is null or $4::text = ${STANDING})
            and ($5::text is null or $5::text = r.caller)
            and ($6::text is null or $6::text = r.operation)
          order by r.id
          limit $2::integer) page on true`

/** They are few: all of them are read by their own index, for each page, and never the whole table. */
const unfinished = (schema: string) =>
  `(select u.* from ${schema}.records u where u.status is null offset 0)`

/**
 * At most $1 of those that expired from $2 on, in milliseconds; null for all. Gives how far it came:
 * what was deleted stays in the index for a while, and a batch that goes on from there need not come
 * past what the batches before it have deleted. Nobody waits for the disk: what a crash brings back
 * is swept again.
 */
const sweep = (schema: string) => `
    with awake as
         (delete from ${schema}.waiters where until <= (select clock_timestamp())),
         swept as
         (delete from ${schema}.records
           where ctid = any (array(
                 select r.ctid
                   from ${schema}.records r
                  where r.status is not null and r.expires_at <= (select clock_timestamp())
                    and r.expires_at >= coalesce('epoch'::timestamptz
                        + $2::double precision * interval '1 millisecond', '-infinity')
                  order by r.expires_at
                  limit $1
                    for update skip locked))
          returning id, expires_at),
         forgotten as
         (delete from ${schema}.attempts where record_id in (select id from swept))
  select count(*)::integer, floor(${ms('max(expires_at)')}),
         set_config('synchronous_commit', 'off', true)
    from swept`

const stats = (schema: string) => `
  select count(*) filter (where standing = 'running')::integer,
         count(*) filter (where standing = 'suspended')::integer,
         count(*) filter (where standing = 'unknown')::integer
    from (select ${STANDING} as standing
            from ${schema}.records r,
                 (select clock_timestamp() as moment) clock
           where r.status is null) unfinished`

const wait = (schema: string) => `
  insert into ${schema}.waiters as w (id, until)
  values ($1, clock_timestamp() + $2::double precision * interval '1 millisecond')
      on conflict (id) do update set until = greatest(w.until, excluded.until)`

const look = (schema: string) => `
  select ${schema}.told(${schema}.look($1, $2, $3)) as answer`

const lookInQuota = (schema: string) => `
  select ${schema}.told(${schema}.look_in_quota($1, $2, $3, $4, $5)) as answer`

/**
 * Looks, and where nothing stands in the way also tries the locks, which end with the statement. As for
 * one that is known to be fresh, so that every record is left as it is.
 */
const lookAndTry = (schema: string) => `
  select case when a.outcome in ('execute', 'recover')
              then ${schema}.open_transaction($1, $2, $3, $4, $5, true, null, false)
              else ${schema}.told(a) end as answer,
         current_setting('transaction_isolation') as isolation
    from ${schema}.look($1, $4, $5) a`

const BEGUN = `
         current_setting('transaction_read_only') as read_only,
         current_setting('transaction_isolation') as isolation, ${TRANSACTION} as transaction`

const beginTransaction = (schema: string) => `
  select ${schema}.open_transaction($1, $2, $3, $4, $5, $6, $7, false) as answer,${BEGUN}`

const beginInQuota = (schema: string) => `
  select ${schema}.told(${schema}.begin_in_quota($1, $2, $3, $4, $5, $6, $7, $8, $9)) as answer,${BEGUN}`

/**
 * It has to fail in a transaction that is read-only, before the statement behind it is executed. To ask
 * for a transaction that writes is refused there (25001), and nowhere else.
 */
const beginOrFail = (schema: string) => `
  select ${schema}.open_transaction($1, $2, $3, $4, $5, $6, $7, true) as answer,
         case current_setting('transaction_read_only') when 'on'
              then set_config('transaction_read_only', 'off', true) end as writing,${BEGUN}`

/**
 * Stores nothing outside the transaction that was begun, which is $14. Fails once that has outlasted the
 * retention: what a request in lease mode has stored meanwhile may be gone. Not where the transaction is
 * the user's ($17), who may commit it at any time.
 *
 * The time is that of the statement: it was sent for nothing else, so that is now, and it is the same
 * wherever it stands. A volatile clock would need a subquery, and that one costs a tenth of the insert.
 */
const storeFinished = (schema: string) => `
  insert into ${schema}.records (
         fence, created_at, finished_at, expires_at, id, caller, operation, key,
         fingerprint, owner, status, response, resource_type, resource_id, request_id, ip,
         user_agent, counts_until)
  select 1, transaction_timestamp(), statement_timestamp(),
         case when $17::boolean
                or statement_timestamp() < transaction_timestamp() + ${after('$15')}
              then statement_timestamp() + ${after('$15')}
              else ${schema}.refuse_outlasted() end,
         $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
         statement_timestamp() + ${after('$16')}
   where ${TRANSACTION} = $14
  returning (select ${schema}.notify_waiters(w.id) from ${schema}.waiters w where w.id = $1)::text
            as woken`

function after(ms: string): string {
  return `${ms}::double precision * interval '1 millisecond'`
}

/** Selects what `text` does, each row as the text of one JSON object. */
export function selectedAsJson(text: string): string {
  return `select to_json(selected)::text as selected from (${text}) as selected`
}
