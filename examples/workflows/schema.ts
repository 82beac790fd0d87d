/**
 * Tables of the workflows API.
 *
 * @module
 */

/** Makes what is missing. */
export const workflowsSchema = `
  create table if not exists organisations (
    name text primary key check (char_length(name) between 1 and 255),
    -- What is billed: how many runs were started.
    runs bigint not null default 0 check (runs >= 0)
  );

  create table if not exists runs (
    id uuid primary key default gen_random_uuid(),
    organisation text not null references organisations on delete cascade,
    workflow_id text not null check (char_length(workflow_id) between 1 and 100),
    status text not null default 'pending'
      check (status in ('pending', 'running', 'succeeded', 'failed')),
    -- As the client wrote it: json, unlike jsonb, holds every text that is JSON.
    input json not null,
    created_at timestamptz not null default now()
  );
  create index if not exists runs_workflow on runs (organisation, workflow_id, created_at);
`
