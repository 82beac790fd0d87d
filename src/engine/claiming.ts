/**
 * Takes the lease of a record, and never leaves one behind that nobody works under.
 *
 * @module
 */

import { isNeverSent } from '../core/causes.ts'
import { IDENTITY_INVALID, STORE_UNAVAILABLE } from '../core/error-table.ts'
import { isRepriseError, RepriseError } from '../core/errors.ts'
import { isLater } from '../core/later.ts'
import { NO_KEYS } from '../core/quota.ts'
import { STARTED } from '../core/record.ts'
import type { Context } from './context.ts'
import type { Job } from './job.ts'
import { repeat } from './persist.ts'
import type { Claim, ClaimRequest, ClaimResult, Granted, Refusal } from './store.ts'

/** Whether a claim was granted. */
export function isGranted(result: ClaimResult): result is Granted {
  return 'claim' in result
}

/** A claim whose replies take longer than the lease is asked for so often, then given up. */
const LAPSES_MAX = 3

/**
 * Claims. The claim is sent again once under the same owner when it fails, so that a lost reply does
 * not lose it, and again when its reply came after the lease had lapsed, because another run may have
 * taken over meanwhile.
 *
 * @throws RepriseError when the store can not be asked; what the claim may have left is withdrawn
 */
export function takeClaim<Tx>(context: Context<Tx>, job: Job): Promise<ClaimResult> {
  return attempt(context, job, { hasFailed: false, mayHold: false, lapses: 0 })
}

/** Every request is one of these, and most see one reply, in time: the rest is kept out of its way. */
function attempt<Tx>(context: Context<Tx>, job: Job, asking: Asking): Promise<ClaimResult> {
  const request = claimRequest(job)
  return isLater(request)
    ? request.then((later) => send(context, job, { request: later, asking }))
    : send(context, job, { request, asking })
}

function send<Tx>(
  context: Context<Tx>,
  job: Job,
  { request, asking }: { request: ClaimRequest; asking: Asking },
): Promise<ClaimResult> {
  const { clock } = context
  const askedAt = clock.now()
  const sending = sendingOf(request)
  const heard = (result: ClaimResult): ClaimResult | Promise<ClaimResult> => {
    const isInTime = clock.now() - askedAt < job.options.leaseMs
    return !isGranted(result) || isInTime ? result : lapsed(context, job, { result, asking })
  }
  return ask(context, job, sending).then(heard, (error: unknown) => {
    // The store has refused it for good: there is no record, and there will be none.
    if (isRepriseError(error) && error.code === IDENTITY_INVALID.code) throw error
    giveUp(context, { sending, asking, error })
    return askAgain(context, job, { asking, askedAt, error }).then(heard)
  })
}

/** The reply came after the lease that it grants: another run may have taken over. */
function lapsed<Tx>(
  context: Context<Tx>,
  job: Job,
  { result, asking }: { result: Granted; asking: Asking },
): Promise<ClaimResult> {
  asking.lapses++
  if (asking.lapses < LAPSES_MAX) return attempt(context, job, asking)
  asking.hasFailed = true
  context.background(repeat(context, job, () => withdraw(context, result.claim)))
  throw new RepriseError(STORE_UNAVAILABLE, 'Its replies take longer than the lease holds')
}

/**
 * What the run that has the record now has to say to one that lost it: its answer, or that it is
 * running. `undefined` when there is none such.
 */
export async function lookAt<Tx>(context: Context<Tx>, job: Job): Promise<Refusal | undefined> {
  const { store } = context
  const found = await context.call(job, () => store.find(job.identity.id))
  if (found === undefined || !job.fingerprints.includes(found.record.fingerprint)) return undefined
  if (found.status === 'running' && found.record.owner !== job.owner) {
    return { outcome: 'in_progress', leaseLeftMs: null, ageMs: null }
  }
  if (found.status !== 'finished') return undefined

  // The claim of a finished record is refused with its answer and for how long that is kept. Where the
  // record has vanished meanwhile it makes none, and what it takes up of a later run it gives back.
  const request = { ...(await claimRequest(job)), quota: NO_KEYS }
  const result = await askOnce(context, job, { request, asking: { ...GIVEN_UP } })
  if (!isGranted(result)) return result.outcome === 'over_quota' ? undefined : result
  await context.call(job, () => withdraw(context, result.claim))
  return undefined
}

/**
 * Claims of one request, which have one owner: what is granted to any of them is the same claim. So a
 * reply that comes late says nothing while another may be granted, or is in use.
 */
interface Asking {
  /** Whether the request has been given up. */
  hasFailed: boolean
  /** Whether a claim may have reached the store, though its reply did not come. */
  mayHold: boolean
  /** How many replies came after the lease that they granted. */
  lapses: number
}

/** Of a claim that only asks for what a finished record says. */
const GIVEN_UP: Asking = { hasFailed: true, mayHold: false, lapses: 0 }

async function askAgain<Tx>(
  context: Context<Tx>,
  job: Job,
  { asking, askedAt, error }: { asking: Asking; askedAt: number; error: unknown },
): Promise<ClaimResult> {
  // Also bounded as a whole: a store that hangs is not asked twice.
  if (context.clock.now() - askedAt < job.options.storeTimeoutMs / 2) {
    try {
      return await askOnce(context, job, { request: await claimRequest(job), asking })
    } catch {
      // The first failure says more than the second.
    }
  }
  asking.hasFailed = true
  if (asking.mayHold) context.background(repeat(context, job, () => disown(context, job)))
  throw error
}

async function askOnce<Tx>(
  context: Context<Tx>,
  job: Job,
  { request, asking }: { request: ClaimRequest; asking: Asking },
): Promise<ClaimResult> {
  const sending = sendingOf(request)
  try {
    return await ask(context, job, sending)
  } catch (error) {
    giveUp(context, { sending, asking, error })
    throw error
  }
}

/** One claim on its way. */
interface Sending {
  readonly request: ClaimRequest
  isAwaited: boolean
  /** Whether the store was asked; it is not before it is ready. */
  isSent: boolean
  reply: Promise<ClaimResult> | undefined
}

function sendingOf(request: ClaimRequest): Sending {
  return { request, isAwaited: true, isSent: false, reply: undefined }
}

/** Sends a claim; who gets no answer gives it up. */
function ask<Tx>(context: Context<Tx>, job: Job, sending: Sending): Promise<ClaimResult> {
  const claim = (): Promise<ClaimResult> => {
    // Nobody hears of it.
    if (!sending.isAwaited) throw new Error()
    sending.isSent = true
    return context.store.claim(sending.request)
  }
  return context.call(job, () => {
    sending.reply = context.whenReady(claim)
    return sending.reply
  })
}

/** What is granted after the request was given up is withdrawn. */
function giveUp<Tx>(context: Context<Tx>, { sending, asking, error }: Asked): void {
  sending.isAwaited = false
  asking.mayHold ||= sending.isSent && !isNeverSent(error)
  const late = async (result: ClaimResult): Promise<void> => {
    if (asking.hasFailed && isGranted(result)) await withdraw(context, result.claim)
  }
  sending.reply?.then(late).catch(() => {})
}

interface Asked {
  readonly sending: Sending
  readonly asking: Asking
  readonly error: unknown
}

function claimRequest(job: Job): ClaimRequest | Promise<ClaimRequest> {
  return job.input === undefined
    ? requestOf(job, null)
    : job.input().then((input) => requestOf(job, input))
}

function requestOf(job: Job, input: Uint8Array | null): ClaimRequest {
  const { identity, fingerprint, fingerprints, owner, retentionMs, origin } = job
  const { leaseMs, afterCrash, marksEffect } = job.options
  return {
    id: identity.id,
    caller: identity.caller,
    operation: identity.operation,
    key: identity.key,
    fingerprint,
    fingerprintsAccepted: fingerprints,
    owner,
    leaseMs,
    retentionMs,
    origin,
    quota: job.quota,
    input,
    writesFirst: job.writesFirst,
    recoveryPoint: marksEffect || input !== null ? STARTED : null,
    // What phases can not tell is for a person to settle.
    takesUnknown: afterCrash !== 'refuse' && input === null,
  }
}

/**
 * A claim that failed here may have taken effect there, or may yet: without this it would block the
 * key. Answers whether it was found, and withdrawn.
 */
async function disown<Tx>(context: Context<Tx>, { identity, owner }: Job): Promise<boolean> {
  const found = await context.store.find(identity.id)
  if (found?.record.owner !== owner) return false
  return withdraw(context, { id: identity.id, owner, fence: found.record.fence })
}

/**
 * Gives a claim back. What was taken over from an earlier run keeps its history; what was made here
 * has none. It is over once it was heard, also where there was nothing left to give back.
 */
async function withdraw<Tx>({ store }: Pick<Context<Tx>, 'store'>, claim: Claim): Promise<true> {
  await store.release(claim, claim.fence === 1 ? 'forget' : 'suspend')
  return true
}
