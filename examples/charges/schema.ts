/**
 * Tables of the charges API.
 *
 * @module
 */

/** Makes what is missing. */
export const chargesSchema = `
  create table if not exists charges (
    id text primary key default 'ch_' || replace(gen_random_uuid()::text, '-', ''),
    user_id text not null,
    amount bigint not null check (amount > 0),
    currency text not null check (currency ~ '^[a-z]{3}$'),
    customer_id text check (char_length(customer_id) between 1 and 255),
    status text not null default 'succeeded' check (status in ('succeeded')),
    created_at timestamptz not null default now()
  );
  create index if not exists charges_user_id on charges (user_id, created_at);

  create table if not exists orders (
    user_id text not null,
    id text not null check (char_length(id) between 1 and 100),
    -- As the client wrote it: json, unlike jsonb, holds every text that is JSON.
    content json not null,
    updated_at timestamptz not null default now(),
    primary key (user_id, id)
  );
`
