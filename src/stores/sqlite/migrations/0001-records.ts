import type { Migration } from '../../migration.ts'

/** The table of records. */
export function records(prefix: string): Migration {
  return {
    number: 1,
    breaking: true,
    sql: `
      create table ${prefix}records (
        id              text    not null primary key,
        caller          text    not null,
        operation       text    not null,
        key             text    not null,
        fingerprint     text    not null,
        fence           integer not null,
        owner           text,
        lease_until     integer,
        recovery_point  text,
        state           blob,
        input           blob,
        response_status integer,
        response_sealed blob,
        resource_type   text,
        resource_id     text,
        request_id      text,
        ip              text,
        user_agent      text,
        created_at      integer not null,
        finished_at     integer,
        expires_at      integer not null,
        check ((response_status is null) = (response_sealed is null)),
        check ((response_status is null) = (finished_at is null)),
        check ((resource_type is null) = (resource_id is null))
      ) strict;

      -- Unfinished records are few at any time: what operators and workers look through.
      create index ${prefix}records_unfinished on ${prefix}records (id)
       where response_status is null;

      create index ${prefix}records_expiry on ${prefix}records (expires_at)
       where response_status is not null;`,
  }
}
