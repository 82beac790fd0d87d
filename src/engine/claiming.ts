/**
 * Takes the lease of a record, and never leaves one behind that nobody works under.
 *
 * @module
 */

import { STORE_UNAVAILABLE } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
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
export async function takeClaim<Tx>(context: Context<Tx>, job: Job): Promise<ClaimResult> {
  const { clock } = context
  const asking: Asking = { hasFailed: false }
  for (let lapse = 1; ; lapse++) {
    const askedAt = clock.now()
    const result = await askTwice(context, job, asking)
    const isInTime = clock.now() - askedAt < job.options.leaseMs
    if (!('claim' in result) || isInTime) return result
    if (lapse < LAPSES_MAX) continue
    asking.hasFailed = true
    context.background(repeat(context, job, () => withdraw(context, result.claim)))
    const detail = 'Its replies take longer than the lease holds'
    throw new RepriseError(STORE_UNAVAILABLE, detail)
  }
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

  // The claim of a finished record is refused with its answer and for how long that is kept.
  // It makes none within a quota: what is made where it has vanished meanwhile is withdrawn.
  const request = { ...(await claimRequest(job)), quota: undefined }
  const result = await ask(context, { job, request, asking: { hasFailed: true } })
  if (!('claim' in result)) return result
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
}

async function askTwice<Tx>(context: Context<Tx>, job: Job, asking: Asking): Promise<ClaimResult> {
  const { clock } = context
  // What fails before anything was sent leaves nothing behind.
  const request = await claimRequest(job)
  const askedAt = clock.now()
  try {
    return await ask(context, { job, request, asking })
  } catch (error) {
    // Also bounded as a whole: a store that hangs is not asked twice.
    if (clock.now() - askedAt < job.options.storeTimeoutMs / 2) {
      try {
        return await ask(context, { job, request: await claimRequest(job), asking })
      } catch {
        // The first failure says more than the second.
      }
    }
    asking.hasFailed = true
    context.background(repeat(context, job, () => disown(context, job)))
    throw error
  }
}

/** One claim; what is granted after the request was given up is withdrawn. */
async function ask<Tx>(
  context: Context<Tx>,
  { job, request, asking }: { job: Job; request: ClaimRequest; asking: Asking },
): Promise<ClaimResult> {
  const { store } = context
  let isAwaited = true
  const claim = async () => {
    await store.ready()
    // Nobody hears of it.
    if (!isAwaited) throw new Error()
    const result = await store.claim(request)
    const isLate = !isAwaited && asking.hasFailed
    if (isLate && 'claim' in result) await withdraw(context, result.claim)
    return result
  }
  try {
    return await context.call(job, claim)
  } finally {
    isAwaited = false
  }
}

async function claimRequest(job: Job): Promise<ClaimRequest> {
  const { identity, fingerprint, fingerprints, owner, retentionMs, origin } = job
  const { leaseMs, afterCrash, marksEffect } = job.options
  const input = (await job.input?.()) ?? null
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
