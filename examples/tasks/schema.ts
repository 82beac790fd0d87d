/**
 * Tables of the tasks API.
 *
 * @module
 */

/** Makes what is missing. */
export const tasksSchema = `
  create table if not exists tasks (
    id text primary key default 'task_' || replace(gen_random_uuid()::text, '-', ''),
    -- Digest of the API key: every key is an account of its own.
    account text not null,
    task_name text not null check (char_length(task_name) between 1 and 255),
    is_done boolean not null default false,
    completed_at timestamptz check (is_done = (completed_at is not null)),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  );
  create index if not exists tasks_account on tasks (account, created_at);
`
