/**
 * Planted bugs: what the simulation is there to find. Each is either a flaw of the database in memory,
 * where the real one is SQL, or a change of one place in the source.
 *
 * @module
 */

import type { Change } from '../support/planted.ts'
import type { Flaw } from './flaws.ts'

/** A bug. */
export interface Mutant {
  readonly name: string
  /** What is wrong, in words. */
  readonly what: string
  readonly flaw?: Flaw
  /** What is changed in the source. */
  readonly patch?: Change
}

const flaw = (name: Flaw, what: string): Mutant => ({ name, what, flaw: name })

/** Every planted bug. */
export const MUTANTS: readonly Mutant[] = [
  flaw('fence-unchecked', 'writes do not check owner and fence'),
  flaw('fence-unchecked-in-phase', 'the commit of a phase does not check the fence'),
  flaw('fence-stands-still', 'a lease is taken without a new fence'),
  flaw('lease-ignored', 'a claim takes over while the lease is live'),
  flaw('mismatch-ignored', 'another request under the key gets the stored answer'),
  flaw('renewal-lost', 'a renewal does not extend the lease'),
  flaw('finish-unwritten', 'the answer is said to be stored and is not'),
  flaw('forget-on-throw', 'a failed run deletes its record'),
  flaw('sweep-unfinished', 'the sweep deletes unfinished records'),
  flaw('sweep-early', 'the sweep deletes answers within their retention'),
  flaw('abandoned-unburied', 'an unfinished record is replaced without a letter'),
  flaw('letter-lost', 'burying writes no letter'),
  flaw('burial-resumable', 'a buried record keeps its recovery point'),
  flaw('settled-twice', 'a letter can be settled twice'),
  flaw('settlement-loses-state', 'a resumed record has lost its state'),
  flaw('point-forgotten', 'a phase commits and the recovery point stays behind'),
  flaw('state-forgotten', 'a recovery point is stored without its state'),
  flaw('call-unnoted', 'a call that must not be repeated is not noted before it is made'),
  flaw('taken-while-leased', 'the completer takes records whose lease is live'),
  flaw('taken-under-same-fence', 'the completer takes records under the old owner and fence'),
  flaw('staged-outside', 'jobs are staged outside of the transaction'),
  flaw('stage-lost', 'staged jobs are not written'),
  flaw('jobs-removed-early', 'jobs are removed before they are handed over'),
  flaw('undelivered-removed', 'jobs that the sink refused are removed'),
  flaw('key-unreserved', 'transactions neither reserve the key nor find it taken'),
  flaw('record-uncommitted', 'a transaction commits its rows without the record'),
  flaw('statement-unskipped', 'the first statement is executed although the claim was refused'),
  flaw('quota-unchecked', 'every fresh key is let in, whatever the quota'),
  flaw('quota-before-record', 'the quota is asked also where the key has a record'),
  flaw('refused-kept', 'a key that was refused for the quota leaves a record'),
  flaw(
    'claim-unsynced',
    'the claim of a handler that can begin at once does not wait for the disk',
  ),
  flaw('call-by-clock', 'a call counts as begun only if its time is after that of its record'),
  flaw('settlement-short', "a settling answer is kept for the engine's retention alone"),
  ...patches(),
]

function patches(): readonly Mutant[] {
  return [
    patch('expired-lease-unknown', 'core/decide.ts', {
      what: 'a lapsed plain run is run again, although it may have taken effect',
      find: `  if (claimant.takesUnknown) return { kind: 'recover'`,
      replace: `  if (true) return { kind: 'recover'`,
    }),
    patch('finished-reruns', 'core/decide.ts', {
      what: 'a finished record is run again',
      find: `  if (isFinished(record)) return { kind: 'replay' }`,
      replace: '',
    }),
    patch('retention-ignored', 'core/decide.ts', {
      what: 'records never expire',
      find: `  if (isExpired(record, now)) return execute(!isFinished(record))`,
      replace: '',
    }),
    patch('retention-short', 'core/transition.ts', {
      what: 'an answer is kept for a tenth of its retention',
      find: `    expiresAt: now + retentionMs,`,
      replace: `    expiresAt: now + retentionMs / 10,`,
    }),
    patch('owner-unchecked', 'core/transition.ts', {
      what: 'a zombie of a removed record writes into the one made after it',
      find: `record.owner === holder.owner && record.fence === holder.fence`,
      replace: `record.fence === holder.fence`,
    }),
    patch('reply-before-store', 'engine/lease-run.ts', {
      what: 'the answer is given before it is stored',
      find: `        ? this.#finish(job, claim, { response, resource: run.resource })`,
      replace: `        ? (void this.#finish(job, claim, { response, resource: run.resource }), 'done' as const)`,
    }),
    patch('forget-unknown', 'core/policy.ts', {
      what: 'a throw of unknown effect frees the key',
      find: `      return effect === 'none' ? 'forget' : 'suspend'`,
      replace: `      return 'forget'`,
    }),
    patch('mark-unstored', 'engine/run.ts', {
      what: 'markEffect() is not stored',
      find: `    if (this.#options.marksEffect) await this.#mark()`,
      replace: '',
    }),
    patch('withdraws-forgetting', 'engine/claiming.ts', {
      what: 'withdrawing a claim forgets what earlier runs did',
      find: `claim.fence === 1 ? 'forget' : 'suspend'`,
      replace: `'forget'`,
    }),
    patch('commit-assumed', 'engine/transaction-run.ts', {
      what: 'a commit of unknown result counts as done',
      find: `      if (isCommitting && isUnknown) return await this.#committed(job, error)`,
      replace: `      if (isCommitting && isUnknown) {
        const response = { status: 201, headers: [], body: new Uint8Array() }
        return context.executed(job, { outcome: 'executed', response, askedAt: 0 })
      }`,
    }),
    patch('lost-race-answers', 'engine/transaction-run.ts', {
      what: 'who lost the race answers all the same',
      find: `      if (fault === 'retry' || fault === 'lost') return { fault, error }`,
      replace: `      if (fault === 'retry') return { fault, error }
      if (fault === 'lost') return { outcome: 'executed', fate: 'stored', expiresInMs: 1, response: { status: 201, headers: [], body: new TextEncoder().encode('lost') } }`,
    }),
    patch('cache-unkeyed', 'engine/job.ts', {
      what: 'within a process requests share an answer by key alone',
      find: 'request: `${id} ${fingerprint}`',
      replace: 'request: `${id}`',
    }),
    patch('cache-eternal', 'engine/replay-cache.ts', {
      what: 'the cache of answers does not look at their retention',
      find: 'Math.min(this.#clock.now() + this.#ageMsMax, replay.expiresAt)',
      replace: 'this.#clock.now() + this.#ageMsMax',
    }),
    ...heldPatches(),
    ...phasePatches(),
    ...deployPatches(),
  ]
}

/** Claims with the first statement, and quotas. */
function heldPatches(): readonly Mutant[] {
  return [
    patch('refused-answer-counts', 'engine/transaction-run.ts', {
      what: 'what a handler answers counts although its claim was refused',
      find: `    if (!isGranted) return undefined`,
      replace: '',
    }),
    patch('refused-awaited', 'engine/transaction-run.ts', {
      what: 'a handler is waited for although its claim was refused',
      find: `      held.whenRefused(() => resolve(undefined))`,
      replace: '',
    }),
    patch('held-again', 'engine/transaction-run.ts', {
      what: 'a request that was refused with its first statement is held back again',
      find: `this.#runs === 0 ? options.claim : 'first'`,
      replace: `options.claim`,
    }),
    patch('handle-outlives', 'engine/transaction-access.ts', {
      what: 'statements are taken when the handler has ended',
      find: `    this.#isEnded = true`,
      replace: '',
    }),
    patch('quota-forgotten', 'engine/transaction-request.ts', {
      what: 'transactions do not count for the quota',
      find: `    quota: job.quota,`,
      replace: '',
    }),
  ]
}

function phasePatches(): readonly Mutant[] {
  return [
    patch('resume-from-start', 'phases/drive.ts', {
      what: 'a resumed operation begins at the start',
      find: `    const point = recoveryPoint ?? STARTED
    const place`,
      replace: `    const point = STARTED
    const place`,
    }),
    patch('key-per-attempt', 'phases/call-run.ts', {
      what: 'the key of a foreign call changes with each run',
      find: `derivedKey(place.token, place.storedPoint)`,
      replace: 'derivedKey(place.token + claim.fence, place.storedPoint)',
    }),
    patch('earlier-call-ignored', 'phases/call-run.ts', {
      what: 'nobody looks whether an earlier run made the call',
      find: `    if (care === 'unnoted' || !place.isResumed) return toCall`,
      replace: `    if (place !== undefined) return toCall`,
    }),
    patch('unclear-call-repeated', 'phases/call-run.ts', {
      what: 'a call of unknown result is repeated although it must not be',
      find: `    if (certainty === 'unknown' && isNever) return { kind: 'bury', error: messageOf(error) }
    // A call that was noted and may have happened stays noted: the next run asks about it first.
    const isOpen = care !== 'unnoted' && certainty === 'unknown'`,
      replace: `    const isOpen = false`,
    }),
    patch('call-timeout-happened', 'phases/foreign-call.ts', {
      what: 'a cut connection counts as a call that did not happen',
      find: `const UNSENT = new Set([`,
      replace: `const UNSENT = new Set(['ECONNRESET', `,
    }),
    patch('graph-change-restarts', 'phases/drive.ts', {
      what: 'a point that the new version does not have is begun from the start',
      find: `return moved === undefined || moved === null ? { misfit } : this.#moved(place, moved)`,
      replace: `return moved === undefined || moved === null
      ? { ...place, point: STARTED }
      : this.#moved(place, moved)`,
    }),
    patch('job-delivered-unsettled', 'workers/enqueuer.ts', {
      what: 'jobs are settled before they are delivered',
      find: `    const undelivered = await hand(parts, batch)
    await batch.settle(undelivered)`,
      replace: `    await batch.settle([])
    const undelivered = await hand(parts, batch)`,
    }),
    patch('waiters-forgotten', 'engine/settle.ts', {
      what: 'a waiter is told the answer of a run that was not stored',
      find: `ended.fate === 'stored' ? context`,
      replace: `true ? context`,
    }),
  ]
}

/** Providers that deny, deploys side by side, and phases that hang. */
function deployPatches(): readonly Mutant[] {
  return [
    patch('denied-call-repeated', 'phases/call-run.ts', {
      what: 'a call that the provider denies is repeated although it may be on its way',
      find: `care !== 'never' || found.certainty === 'will_not_happen'`,
      replace: `care !== 'never' || isDenied`,
    }),
    patch('garbage-permits', 'phases/foreign-call.ts', {
      what: 'an answer that nobody understands permits to repeat a call',
      find: `  if (typeof said !== 'object' || said === null) return unknown`,
      replace: `  if (typeof said !== 'object' || said === null) return willNotHappen`,
    }),
    patch('key-of-new-point', 'phases/call-run.ts', {
      what: 'a call that migrate has moved gets the key of its new point',
      find: `derivedKey(place.token, place.storedPoint)`,
      replace: `derivedKey(place.token, place.point)`,
    }),
    patch('newer-buried', 'phases/drive.ts', {
      what: 'an old node buries what a newer version has stored',
      find: `return await this.#leave(start, located)`,
      replace: `return await this.#bury('graph_changed', located.misfit)`,
    }),
    patch('retry-validated', 'phases/operation.ts', {
      what: 'the schema of today refuses the retry of a request that was taken before',
      find: `    const known = await this.#takeUp(job)
    if (known !== undefined) return known
    if ('thrown'`,
      replace: `    if ('thrown'`,
    }),
    patch('hung-phase-keeps', 'phases/phase-run.ts', {
      what: 'a phase whose statement hangs keeps its connection',
      find: `    if (isUndone === undefined) open.destroy?.()`,
      replace: '',
    }),
  ]
}

function patch(
  name: string,
  file: string,
  { what, find, replace }: { what: string; find: string; replace: string },
): Mutant {
  return { name, what, patch: { file, find, replace } }
}
