/**
 * An operation in phases whose second version has other names for its points and one phase more, with a
 * provider that denies, hangs and acts late. The charge may be repeated with its key, the notice never.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { query } from '../../scripts/servers/postgres.ts'
import type { Reprise } from '../../src/index.ts'
import {
  advance,
  type CallContext,
  didNotHappen,
  foreignCall,
  happened,
  type Operation,
  type OperationOptions,
  operation,
  type PhaseContext,
  phase,
  respond,
  retryLater,
} from '../../src/phases/index.ts'
import type { NodeTask } from './node.ts'

/** What is handed on from phase to phase. */
interface Order {
  readonly key: string
  readonly token: string
}

type Given = PhaseContext<pg.PoolClient, string>

/** How long a call may take, in milliseconds: the provider hangs now and then. */
const CALL_MS = 1500

/** How long a node leaves to others what it does not understand, in milliseconds: one of them knows it. */
const OTHER_VERSION_MS = 600_000

/** The names that the second version has for points of the first. */
const RENAMED: Readonly<Record<string, string>> = { ordered: 'charging', charged: 'noticing' }

/** The operation in the version of this node. */
export function deployedCharge(
  reprise: Reprise<pg.PoolClient>,
  { provider, version, leaseMs }: NodeTask,
): Operation<pg.PoolClient, string> {
  const settings: OperationOptions<pg.PoolClient, string> = {
    ...{ reprise, leaseMs, otherVersionMs: OTHER_VERSION_MS },
    input: {
      '~standard': {
        ...{ version: 1, vendor: 'reality' },
        validate: (value) => ({ value: String(value) }),
      },
    },
    // Whatever is tried often is tried until it is done: a letter of exhausted tries would count as stuck.
    completer: { graceMs: 500, retryMs: 200, retryMsMax: 1000, triesMax: 10_000 },
  }
  const to = { provider }
  if (version === 1) {
    return operation('charge', settings, {
      started: phase(async (given: Given) => advance('ordered', await ordered(given))),
      ordered: foreignCall({ ...charge(to), done: (_: Given, order) => advance('charged', order) }),
      charged: foreignCall({ ...notice(to), done: (_: Given, order) => advance('booked', order) }),
      booked: phase(booked),
    })
  }
  return operation(
    'charge',
    {
      ...settings,
      migrate: ({ point, state }) => ({ point: RENAMED[point] ?? point, state }),
    },
    {
      started: phase(async (given: Given) => advance('checked', await ordered(given))),
      checked: phase(async (_: Given, order: Order) => advance('charging', order)),
      charging: foreignCall({
        ...charge(to),
        done: (_: Given, order) => advance('noticing', order),
      }),
      noticing: foreignCall({ ...notice(to), done: (_: Given, order) => advance('booked', order) }),
      booked: phase(booked),
    },
  )
}

async function ordered({ tx, input: key }: Given): Promise<Order> {
  const token = randomBytes(9).toString('base64url')
  await tx.query('insert into effects (key, token) values ($1, $2)', [key, token])
  return { key, token }
}

async function booked({ tx }: Given, { key, token }: Order) {
  await tx.query('insert into charges (key) values ($1)', [key])
  return respond(201, token)
}

interface To {
  /** Its port. */
  readonly provider: number
}

/** A call that the provider honours the key of. */
function charge(to: To) {
  return {
    ...{ repeat: 'with-key' as const, timeoutMs: CALL_MS },
    call: (context: CallContext<string>, order: Order) => ask(to, `charge/${order.key}`, context),
    failed: () => retryLater({ afterMs: 200 }),
  }
}

/** A call that must not be made twice, of which the provider may not know yet. */
function notice(to: To) {
  return {
    ...{ repeat: 'never' as const, timeoutMs: CALL_MS },
    call: (context: CallContext<string>, order: Order) => ask(to, `notice/${order.key}`, context),
    reconcile: async (context: CallContext<string>, order: Order) => {
      const found = await ask(to, `noticed/${order.key}`, context)
      return found === 'noticed' ? happened(found) : didNotHappen
    },
  }
}

async function ask({ provider }: To, path: string, { key, signal }: CallContext<string>) {
  const response = await fetch(`http://127.0.0.1:${provider}/${path}`, {
    ...{ method: 'POST', headers: { 'idempotency-key': key }, signal },
  })
  if (!response.ok) throw new Error(`The provider answers ${response.status}.`)
  return response.text()
}

/**
 * Has every instant that the store keeps lie so much later, which is what a clock that is set back by as
 * much does to them.
 *
 * @param ms - below 0 for a clock that is set ahead
 */
export async function shiftInstants(url: string, ms: number): Promise<void> {
  await query(
    url,
    `do $$
     declare moved record;
     begin
       for moved in
         select c.table_name, string_agg(format('%1$I = %1$I + interval ''${ms} ms''',
                c.column_name), ', ') as sets
           from information_schema.columns c
           join information_schema.tables t using (table_schema, table_name)
          where c.table_schema = 'reprise' and t.table_type = 'BASE TABLE'
            and c.data_type = 'timestamp with time zone'
            and c.table_name in ('records', 'attempts', 'dead_letters', 'jobs')
          group by c.table_name order by c.table_name desc
       loop
         execute format('update reprise.%I set %s', moved.table_name, moved.sets);
       end loop;
     end $$`,
  )
}

/** Records that nobody goes on with, and letters that have another cause than a call of unknown end. */
export async function countLeft(url: string): Promise<number> {
  const { rows } = await query(
    url,
    `select (select count(*) from reprise.records r
              where r.status is null and not exists (
                    select from reprise.dead_letters d
                     where d.record_id = r.id and d.settled_at is null))::integer
          + (select count(*) from reprise.dead_letters d
              where d.cause <> 'outcome_unknown')::integer as left`,
  )
  return Number(rows[0]?.left)
}
