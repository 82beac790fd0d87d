/**
 * The app under test: a plain handler, a handler in a transaction, and an operation in phases of
 * which there are two versions.
 *
 * @module
 */

import { recordId } from '../../src/core/identity.ts'
import type { CapturedResponse } from '../../src/core/response.ts'
import { DuplicateRequest } from '../../src/engine/duplicate-request.ts'
import type { Run } from '../../src/engine/run.ts'
import type { TransactionRun } from '../../src/engine/transaction-handler.ts'
import type { Reprise } from '../../src/index.ts'
import {
  advance,
  type CallContext,
  didNotHappen,
  foreignCall,
  happened,
  type Operation,
  operation,
  type PhaseContext,
  phase,
  respond,
  retryLater,
  type Schema,
} from '../../src/phases/index.ts'
import type { Chance } from '../engine/chance.ts'
import type { Checks, Sent } from './checks.ts'
import type { Ledger } from './ledger.ts'
import type { Machine } from './machine.ts'
import type { WorldOptions } from './options.ts'
import { type Charge, isDeclined, type Outside } from './provider.ts'
import type { SimulatedTx } from './remote-store.ts'
import type { Wire } from './wire.ts'

/** On whose behalf everything is asked. */
export const CALLER = 'acct'

/** How long a version leaves to others what it does not understand, in milliseconds. */
export const OTHER_VERSION_MS = 5000

/** What the app is made of. */
export interface AppParts {
  readonly machine: Pick<Machine, 'clock' | 'name'>
  readonly reprise: Reprise<SimulatedTx>
  /** To the provider. */
  readonly wire: Wire
  readonly outside: Outside
  /** Of the provider that a planned operation calls. */
  readonly ledger?: Ledger | undefined
  readonly checks: Checks
  readonly chance: Chance
  readonly options: WorldOptions
  /** A number that nobody else is given. */
  readonly number: () => string
}

/** What an operation is asked. */
export interface Order {
  readonly key: string
  readonly body: string
}

/** What its phases hand on. */
interface Ride extends Order {
  readonly ride: string
}

const ORDER: Schema<Order> = {
  // The simulation sends nothing else.
  '~standard': {
    version: 1,
    vendor: 'simulation',
    validate: (value) => ({ value: value as Order }),
  },
}

/** The record of a key in a mode. */
export function idOf(mode: string, key: string): string {
  return recordId([CALLER, mode, key], key)
}

/** A plain handler: one effect outside, whatever happens around it. */
export function leaseHandler(parts: AppParts, sent: Sent, owner: string) {
  const { outside, wire, chance, options } = parts
  return async (run: Run): Promise<CapturedResponse> => {
    const by = `run-${parts.number()}`
    const stop = outside.runs(sent.id)
    try {
      if (chance.happens(0.7)) await work(parts)
      if (fails(parts)) throw new Error('The handler failed before its effect.')
      if (fails(parts)) return answer(400, sent, `${by} was not taken on`)
      if (options.marksEffect) await run.markEffect()
      await wire.ask({ label: 'effect', apply: () => outside.effect({ id: sent.id, owner, by }) })
      if (chance.happens(0.3)) await work(parts)
      if (fails(parts)) throw new Error('The handler failed after its effect.')
      return answer(201, sent, `${by} done`)
    } finally {
      stop()
    }
  }
}

/** A handler in a transaction: its row and its answer, or nothing. */
export function transactionHandler(parts: AppParts, sent: Sent) {
  const isHeld = parts.options.transaction?.claim === 'with-first-statement'
  return async ({ tx, stage }: TransactionRun<SimulatedTx>): Promise<CapturedResponse> => {
    const by = `run-${parts.number()}`
    if (parts.chance.happens(0.3)) await work(parts)
    const early = isHeld ? await firstStatement(parts, sent, { tx, by }) : undefined
    if (early !== undefined) return early
    if (!isHeld) await tx.write(sent.id, 'effect', by)
    const end = goOn(parts, sent, { tx, by })
    try {
      if (fails(parts)) throw new Error('The handler failed after its row.')
      if (parts.chance.happens(0.5)) await stage('mail', { by })
      if (fails(parts)) return answer(500, sent, `${by} is undone`)
      return answer(201, sent, `${by} done`)
    } finally {
      end()
    }
  }
}

/** A branch of the handler that some have, and that goes on after its end; gives what tells of the end. */
function goOn(
  parts: AppParts,
  sent: Sent,
  { tx, by }: { readonly tx: SimulatedTx; readonly by: string },
): () => void {
  const { chance, checks, machine } = parts
  if (!chance.happens(0.2)) return () => {}
  const state = { isOver: false }
  const branch = async () => {
    await work(parts)
    const { isOver } = state
    await tx.write(sent.id, 'late', by)
    if (isOver) checks.tookLate(by)
  }
  void branch().catch(() => {})
  // By then the engine has heard of the end.
  return () => void machine.clock.after(1, () => (state.isOver = true))
}

/**
 * The row of a handler that also runs for duplicates, up to here; an answer where it is the end. Some
 * make no statement, some take no notice of a refusal, and some never come back from one.
 */
async function firstStatement(
  parts: AppParts,
  sent: Sent,
  { tx, by }: { readonly tx: SimulatedTx; readonly by: string },
): Promise<CapturedResponse | undefined> {
  const { chance, checks } = parts
  if (fails(parts)) throw new Error('The handler failed before its row.')
  if (chance.happens(0.1)) return answer(201, sent, `${by} had nothing to do`)
  try {
    await tx.write(sent.id, 'effect', by)
  } catch (error) {
    if (!(error instanceof DuplicateRequest)) throw error
    checks.note('transaction refused with its first statement')
    if (chance.happens(0.2)) return new Promise(() => {})
    if (chance.happens(0.5)) return answer(201, sent, `${by} done`)
    throw error
  }
  return undefined
}

/** The operation in its first or second version. */
export function payment(parts: AppParts, version: number): Operation<SimulatedTx, Order> {
  const { options } = parts
  const settings = settingsOf(parts)
  const { started, rideMade } = firstPhases(parts)
  if (version === 1) {
    return operation('phases', settings, {
      started,
      ride_made: rideMade,
      charged: notice(parts, 'noticed'),
      noticed: last(parts),
    })
  }
  const migrate = ({ point, state }: { point: string; state: unknown }) =>
    point === 'noticed' ? { point: 'closed', state } : { point, state }
  const given = options.migrates ? { ...settings, migrate } : settings
  return operation('phases', given, {
    started,
    ride_made: rideMade,
    charged: notice(parts, 'closed'),
    closed: last(parts),
  })
}

/** The settings that every operation in phases has here. */
export function settingsOf({ reprise, options }: AppParts) {
  const { isolation, leaseMs, retentionMs, waitMs, storeTimeoutMs, graceMs } = options
  return {
    ...{ reprise, input: ORDER, isolation, leaseMs, retentionMs, waitMs, storeTimeoutMs },
    completer: { graceMs, retryMs: 1000, retryMsMax: 4000, triesMax: 6 },
    otherVersionMs: OTHER_VERSION_MS,
    retryAfterMs: 500,
  }
}

function firstPhases(parts: AppParts) {
  const { wire, outside } = parts
  const started = phase(async ({ tx, input }: PhaseGiven) => {
    const ride = `ride-${parts.number()}`
    if (parts.chance.happens(0.3)) await work(parts)
    await tx.write(idOf('phases', input.key), 'ride', ride)
    if (parts.chance.happens(0.3)) await work(parts)
    if (fails(parts)) throw new Error('The phase failed after its row.')
    if (fails(parts)) return retryLater()
    return advance('ride_made', { ...input, ride })
  })
  const rideMade = foreignCall({
    timeoutMs: 4000,
    call: ({ key }: CallContext<Order>, { ride }: Ride) => {
      const asked = { key, ride, point: 'ride_made' }
      return wire.ask({ label: 'charge', apply: () => outside.charge(asked) })
    },
    done: async ({ tx, input, result }: PhaseGiven & { readonly result: Charge }, ride: Ride) => {
      if (ride.ride !== result.ride) parts.checks.violate(`${ride.ride} got another charge`)
      await tx.write(idOf('phases', input.key), 'charge', ride.ride)
      return advance('charged', ride)
    },
    failed: (error: unknown, { ride, key, body }: Ride) =>
      isDeclined(error) ? respond(402, `"${key} ${body}" ${ride} is declined`) : retryLater(),
  })
  return { started, rideMade }
}

/** A call that must not be made twice. */
function notice<const Next extends string>(parts: AppParts, next: Next) {
  const { wire, outside, options } = parts
  const spec = {
    repeat: 'never' as const,
    timeoutMs: 4000,
    call: ({ key }: CallContext<Order>, { ride }: Ride) => {
      const asked = { key, ride, point: 'charged' }
      return wire.ask({ label: 'notify', apply: () => outside.charge(asked) })
    },
    done: async ({ tx, input }: PhaseGiven, ride: Ride) => {
      await tx.write(idOf('phases', input.key), 'notice', ride.ride)
      return advance(next, ride)
    },
  }
  if (!options.reconciles) return foreignCall(spec)
  return foreignCall({
    ...spec,
    reconcile: async ({ key }: CallContext<Order>) => {
      const found = await wire.ask({ label: 'look up', apply: () => outside.find(key) })
      return found === undefined ? didNotHappen : happened(found)
    },
  })
}

function last(parts: AppParts) {
  return phase(async ({ tx, stage, input }: PhaseGiven, { ride }: Ride) => {
    if (parts.chance.happens(0.3)) await work(parts)
    await tx.write(idOf('phases', input.key), 'receipt', ride)
    await stage('receipt', { ride })
    if (parts.chance.happens(0.3)) await work(parts)
    if (fails(parts)) throw new Error('The phase failed after its job.')
    return respond(201, `"${input.key} ${input.body}" ${ride} "done"`)
  })
}

type PhaseGiven = PhaseContext<SimulatedTx, Order>

/** A handler takes its time. */
function work({ machine, chance }: AppParts): Promise<void> {
  const ms = chance.pick(1, 20, 300, 1500, 4000)
  return new Promise((resolve) => {
    machine.clock.after(ms, resolve)
  })
}

function fails({ chance, options, outside }: AppParts): boolean {
  return !outside.isHealed && chance.happens(options.rates.handler / 2)
}

function answer(status: number, { key, body }: Sent, text: string): CapturedResponse {
  const [by, ...what] = text.split(' ')
  const said = what.join(' ') === 'done' ? '"done"' : what.join(' ')
  const encoded = new TextEncoder().encode(`"${key} ${body}" ${by} ${said}`)
  return { status, headers: [], body: encoded }
}
