/**
 * Tables of the agents API. Free bodies are json and not jsonb, which can not hold every text.
 *
 * @module
 */

/** Makes what is missing. */
export const agentsSchema = `
  create table if not exists agents (
    id uuid primary key default gen_random_uuid(),
    name text not null check (char_length(name) between 1 and 100),
    -- Digest of the token: who reads the table can not act for an agent.
    token_hash text not null unique,
    created_at timestamptz not null default now()
  );

  create table if not exists acts (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid not null references agents on delete cascade,
    dweller_id text not null check (char_length(dweller_id) between 1 and 100),
    action text not null check (char_length(action) between 1 and 100),
    details json not null,
    created_at timestamptz not null default now()
  );

  create table if not exists heartbeats (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid not null references agents on delete cascade,
    dweller_id text not null check (char_length(dweller_id) between 1 and 100),
    details json not null,
    created_at timestamptz not null default now()
  );

  create table if not exists stories (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid not null references agents on delete cascade,
    title text not null check (char_length(title) between 1 and 255),
    content text not null check (char_length(content) between 1 and 100000),
    created_at timestamptz not null default now()
  );
  create index if not exists stories_agent_id on stories (agent_id, created_at);

  create table if not exists proposals (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid not null references agents on delete cascade,
    title text not null check (char_length(title) between 1 and 255),
    content text not null check (char_length(content) between 1 and 100000),
    created_at timestamptz not null default now()
  );
  create index if not exists proposals_agent_id on proposals (agent_id, created_at);

  create table if not exists feedback (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid not null references agents on delete cascade,
    -- What is reviewed may be anywhere: a story, a proposal, or something of another service.
    subject_type text not null check (char_length(subject_type) between 1 and 100),
    subject_id text not null check (char_length(subject_id) between 1 and 100),
    verdict text not null check (char_length(verdict) between 1 and 100),
    text text not null check (char_length(text) between 1 and 100000),
    created_at timestamptz not null default now()
  );
`
