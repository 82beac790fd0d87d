/**
 * What each command of a history does to a store, and what is compared of its answer.
 *
 * @module
 */

import type { Claim, ClaimRequest, ListQuery, Store } from '../../src/engine/store.ts'
import { listAll } from '../../src/testing/contract/standings.ts'
import {
  type Answer,
  answerOfClaim,
  answerOfFind,
  answerOfList,
  TICK_MS,
} from './differential-answer.ts'
import type { ClaimCommand, Command } from './differential-history.ts'

/** The names that the commands of a history stand for. They are the history's own. */
export interface Cast {
  readonly caller: string
  /** The id of an identity. */
  id(identity: number): string
  /** The owner token of a run. */
  owner(process: number): string
  /** The claim that was granted `pick` grants ago. */
  claim(pick: number): Claim
}

/** A command that goes to the store; the others concern time and the runs. */
export type StoreCommand = Exclude<Command, { kind: 'tick' | 'crash' }>

/** Lets the command work on a store. */
export async function play(
  command: StoreCommand,
  store: Store<unknown>,
  cast: Cast,
): Promise<Answer> {
  switch (command.kind) {
    case 'claim':
      return answerOfClaim(await store.claim(claimRequest(command, cast)))
    case 'find':
      return answerOfFind(await store.find(cast.id(command.identity)))
    case 'list':
      return answerOfList(await listAll({ store, listsOnce: false }, listQuery(command, cast)))
    case 'sweep':
      // One limit for all: which records go first when there are more is the store's own affair.
      return store.sweep(1000)
    case 'stats': {
      const { running, suspended, unknown } = await store.stats()
      return { running, suspended, unknown }
    }
    default:
      return playHolder(command, store, cast)
  }
}

type HolderCommand = Extract<StoreCommand, { pick: number }>

function playHolder(command: HolderCommand, store: Store<unknown>, cast: Cast): Promise<boolean> {
  const picked = cast.claim(command.pick)
  const claim = command.forged ? { ...picked, fence: picked.fence + 1 } : picked
  switch (command.kind) {
    case 'renew':
      return store.renew(claim, command.leaseTicks * TICK_MS)
    case 'advance': {
      const { recoveryPoint, state, leaseTicks } = command
      const step = { recoveryPoint, state: payload(state), leaseMs: leaseTicks * TICK_MS }
      return store.advance(claim, step)
    }
    case 'finish': {
      const { status, sealed, resource, retentionTicks } = command
      const response = { status, sealed: Buffer.from(sealed, 'latin1') }
      return store.finish(claim, { response, resource, retentionMs: retentionTicks * TICK_MS })
    }
    case 'release':
      return store.release(claim, command.mode)
  }
}

function claimRequest(command: ClaimCommand, cast: Cast): ClaimRequest {
  const { process, identity, recoveryPoint, takesUnknown } = command
  const owner = cast.owner(process)
  const fingerprints = ['one', 'other']
  const fingerprint = fingerprints[command.fingerprint] ?? ''
  return {
    ...{ id: cast.id(identity), caller: cast.caller, operation: 'POST /charges' },
    ...{ key: `key ${identity}`, owner, recoveryPoint, takesUnknown, fingerprint },
    fingerprintsAccepted: command.rotated ? fingerprints : [fingerprint],
    leaseMs: command.leaseTicks * TICK_MS,
    retentionMs: command.retentionTicks * TICK_MS,
    input: payload(command.input),
    origin: { requestId: `req ${owner}`, ip: null, userAgent: null },
  }
}

function listQuery(
  { status, limit }: Extract<StoreCommand, { kind: 'list' }>,
  { caller }: Cast,
): ListQuery {
  return status === null ? { caller, limit } : { caller, limit, status }
}

function payload(text: string | null): Uint8Array | null {
  return text === null ? null : Buffer.from(text, 'latin1')
}
