/**
 * Tables of the rides API. Keys and staged jobs are in tables of Reprise's own.
 *
 * @module
 */

/** Makes what is missing. */
export const ridesSchema = `
  create table if not exists users (
    id bigint generated always as identity primary key,
    email text not null unique check (char_length(email) <= 255),
    -- Customer of the payment provider, with a card.
    stripe_customer_id text not null unique check (char_length(stripe_customer_id) <= 50)
  );

  -- What happened, and from where, for whoever has to piece a request together afterwards.
  create table if not exists audit_records (
    id bigint generated always as identity primary key,
    action text not null check (char_length(action) <= 50),
    created_at timestamptz not null default now(),
    data jsonb not null,
    origin_ip cidr not null,
    resource_id bigint not null,
    resource_type text not null check (char_length(resource_type) <= 50),
    user_id bigint not null references users on delete restrict
  );

  create table if not exists rides (
    id bigint generated always as identity primary key,
    created_at timestamptz not null default now(),
    origin_lat numeric(13, 10) not null check (origin_lat between -90 and 90),
    origin_lon numeric(13, 10) not null check (origin_lon between -180 and 180),
    target_lat numeric(13, 10) not null check (target_lat between -90 and 90),
    target_lon numeric(13, 10) not null check (target_lon between -180 and 180),
    -- Null until the charge is made. The record of the key refers to the ride, and not the other way
    -- round: rides stay when keys are reaped.
    stripe_charge_id text unique check (char_length(stripe_charge_id) <= 50),
    user_id bigint not null references users on delete restrict
  );
  create index if not exists rides_user_id on rides (user_id);
`
