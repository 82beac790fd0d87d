/**
 * Takes the lease of a record, and never leaves one behind that nobody works under.
 *
 * @module
 */

import { STARTED } from '../core/record.ts'
import type { Context } from './context.ts'
import type { Job } from './job.ts'
import { repeat } from './persist.ts'
import type { Claim, ClaimRequest, ClaimResult } from './store.ts'

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
  for (let lapse = 1; ; lapse++) {
    const askedAt = clock.now()
    const result = await askTwice(context, job)
    const isInTime = clock.now() - askedAt < job.options.leaseMs
    if (!('claim' in result) || isInTime || lapse === LAPSES_MAX) return result
  }
}

/**
 * Asks who holds the record now, without taking it: for a run that has lost its claim. `undefined`
 * when nobody does.
 */
export async function lookAt<Tx>(context: Context<Tx>, job: Job): Promise<ClaimResult | undefined> {
  const request = { ...claimRequest(job), takesUnknown: false }
  const result = await context.call(job, () => context.store.claim(request))
  if (!('claim' in result)) return result
  await context.call(job, () => withdraw(context, result.claim))
  return undefined
}

async function askTwice<Tx>(context: Context<Tx>, job: Job): Promise<ClaimResult> {
  const { clock } = context
  const askedAt = clock.now()
  try {
    return await ask(context, job)
  } catch (error) {
    // Also bounded as a whole: a store that hangs is not asked twice.
    if (clock.now() - askedAt < job.options.storeTimeoutMs / 2) {
      try {
        return await ask(context, job)
      } catch {
        // The first failure says more than the second.
      }
    }
    context.background(repeat(context, job, () => disown(context, job)))
    throw error
  }
}

/** One claim; what is granted after its time was up is withdrawn. */
async function ask<Tx>(context: Context<Tx>, job: Job): Promise<ClaimResult> {
  const { store } = context
  let isAwaited = true
  const claim = async () => {
    await store.ready()
    if (!isAwaited) throw new Error('The store was not ready in time.')
    const result = await store.claim(claimRequest(job))
    if (!isAwaited && 'claim' in result) await withdraw(context, result.claim)
    return result
  }
  try {
    return await context.call(job, claim)
  } finally {
    isAwaited = false
  }
}

function claimRequest(job: Job): ClaimRequest {
  const { identity, fingerprint, fingerprints, owner, retentionMs, origin } = job
  const { leaseMs, afterCrash, marksEffect } = job.options
  return {
    ...identity,
    ...{ fingerprint, fingerprintsAccepted: fingerprints, owner, leaseMs, retentionMs, origin },
    input: null,
    recoveryPoint: marksEffect ? STARTED : null,
    takesUnknown: afterCrash !== 'refuse',
  }
}

/** A claim that failed here may have taken effect there: without this it would block the key. */
async function disown<Tx>({ store }: Context<Tx>, job: Job): Promise<void> {
  const found = await store.find(job.identity.id)
  if (found?.record.owner !== job.owner) return
  const { id, fence } = found.record
  await withdraw({ store }, { id, owner: job.owner, fence })
}

/** What was taken over from an earlier run keeps its history; what was made here has none. */
async function withdraw<Tx>({ store }: Pick<Context<Tx>, 'store'>, claim: Claim): Promise<boolean> {
  return store.release(claim, claim.fence === 1 ? 'forget' : 'suspend')
}
