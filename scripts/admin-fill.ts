/** A database as large as wanted, in a few statements. */

/** Fills the tables: one record in fifty is unfinished, one in twenty failed. */
export function fillQueries(records: number): readonly string[] {
  const few = Math.max(1000, Math.round(records / 50))
  return [
    `insert into reprise.records (created_at, expires_at, finished_at, fence, status, id, caller,
            operation, key, fingerprint, owner, response, request_id, ip, user_agent)
     select now() - n * interval '10 ms', now() + interval '12 hours' - n * interval '10 ms', now(),
            1, case when n % 20 = 0 then 402 else 201 end, sha256(n::text::bytea),
            'acct_' || n % 500, 'op-' || n % 20, md5(n::text), sha256(n::text::bytea),
            decode(md5(n::text), 'hex'), decode(repeat('00', 300), 'hex'), 'req-' || n, '192.0.2.1',
            'curl/8.5.0'
       from generate_series(1, ${records - few}) n`,
    `insert into reprise.records (created_at, expires_at, lease_until, fence, id, caller, operation,
            key, fingerprint, owner, recovery_point)
     select now() - n * interval '500 ms', now() + interval '1 day',
            case when n % 10 = 0 then now() + interval '1 hour' end, 1,
            sha256(('u' || n)::bytea), 'acct_' || n % 500, 'op-' || n % 20, md5('u' || n),
            sha256(n::text::bytea), decode(md5(n::text), 'hex'),
            case when n % 3 = 0 then null else 'started' end
       from generate_series(1, ${few}) n`,
    `insert into reprise.dead_letters (created_at, buried_at, fence, tries, record_id, caller,
            operation, key, fingerprint, cause, history, settled_at, settlement, author, note)
     select r.created_at, now(), 1, 0, r.id, r.caller, r.operation, r.key, r.fingerprint,
            'outcome_unknown', '[]', case when random() < 0.9 then now() end, 'resume', 'ada', 'why'
       from reprise.records r
      where r.status is null and r.recovery_point is null`,
    `insert into reprise.duplicates (at, record_id, operation, caller, result)
     select now(), r.id, r.operation, 'c', case when random() < 0.05 then 'mismatch' else 'replayed' end
       from reprise.records r limit ${few * 5}`,
    `insert into reprise.duplicate_counts
     select d.record_id, count(*), now() from reprise.duplicates d group by 1`,
    `insert into reprise.staged_jobs (staged_at, job_id, record_id, name, args, set_aside_at)
     select now(), gen_random_uuid(), r.id, 'mail', '{}', case when random() < 0.02 then now() end
       from reprise.records r limit ${few * 5}`,
    `insert into reprise.audit (at, action, subject, author, note, order_key)
     select now(), 'resume', 'request ' || n, 'ada', 'why', 'key ' || n
       from generate_series(1, ${few * 5}) n`,
    ...['records', 'dead_letters', 'duplicates', 'duplicate_counts', 'staged_jobs', 'audit'].map(
      (table) => `vacuum analyze reprise.${table}`,
    ),
  ]
}
