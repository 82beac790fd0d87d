/**
 * Broken parts of a store: decisions and moves of a record that are wrong in one way each.
 *
 * @module
 */

import { type Claimant, type Decision, decide } from '../../src/core/decide.ts'
import { isExpired, isFinished, type KeyRecord, statusOf } from '../../src/core/record.ts'
import * as transition from '../../src/core/transition.ts'
import type { Claim } from '../../src/engine/store.ts'
import { granted, refused } from '../../src/stores/answer.ts'
import type { Parts } from './pliable-store.ts'

const isOwner = (record: KeyRecord, { owner }: Claim) => record.owner === owner
const isFence = (record: KeyRecord, { fence }: Claim) => record.fence === fence

/** Decides, and lets `change` have the last word. */
function decidingWith(
  change: (
    decision: Decision,
    context: { record: KeyRecord | undefined; claimant: Claimant; now: number },
  ) => Decision,
): Partial<Parts> {
  return {
    decide: (record, claimant, now) =>
      change(decide(record, claimant, now), { record, claimant, now }),
  }
}

/** Decides as if the request had the record's fingerprint, and looks at it last. */
const decideMismatchLast: Parts['decide'] = (record, claimant, now) => {
  const fingerprints = record === undefined ? claimant.fingerprints : [record.fingerprint]
  const decision = decide(record, { ...claimant, fingerprints }, now)
  if (decision.kind !== 'execute') return decision
  return decide(record, claimant, now)
}

/** What is wrong, and the part that makes it so. */
export const BROKEN_PARTS: Readonly<Record<string, Partial<Parts>>> = {
  'reads, waits, and writes': { atomic: false },
  'does not know its own claim again': {
    decide: (record, claimant, now) =>
      decide(record, { ...claimant, owner: `not ${claimant.owner}` }, now),
  },
  'raises the fence for a claim sent again': decidingWith((decision, { record, claimant }) =>
    'fence' in decision && record?.owner === claimant.owner
      ? { ...decision, fence: record.fence + 1 }
      : decision,
  ),
  'does not raise the fence': decidingWith((decision) =>
    'fence' in decision ? { ...decision, fence: 1 } : decision,
  ),
  'does not prolong the lease for a claim sent again': {
    claimed: (record, context) => {
      const next = transition.claimed(record, context)
      const again = record !== undefined && record.owner === context.fresh.owner
      return again ? { ...next, leaseUntil: record.leaseUntil } : next
    },
  },
  'takes over without a lease': {
    claimed: (record, context) => {
      const next = transition.claimed(record, context)
      return next.fence > 1 && record !== undefined
        ? { ...next, leaseUntil: record.leaseUntil }
        : next
    },
  },
  'makes the record anew at a take-over': {
    claimed: (_record, { fresh, grant, now }) =>
      transition.claimed(undefined, { fresh, grant, now }),
  },
  'writes the fingerprint of a take-over': {
    claimed: (record, context) => {
      const { fingerprint } = context.fresh
      return { ...transition.claimed(record, context), fingerprint }
    },
  },
  'keeps the old record in the new one': {
    claimed: (record, context) => ({
      ...record,
      ...transition.claimed(record, context),
      ...(record === undefined ? {} : { input: record.input, createdAt: record.createdAt }),
      ...(record === undefined ? {} : { resource: record.resource, caller: record.caller }),
    }),
  },
  'lets the retention of a claim end before its lease': {
    claimed: (record, context) => ({
      ...transition.claimed(record, context),
      expiresAt: record?.expiresAt ?? context.now + context.fresh.retentionMs,
    }),
  },
  'tells nothing about the lease in the way': {
    refused: (kind, record, now) => {
      const refusal = refused(kind, record, now)
      return refusal.outcome === 'in_progress'
        ? { ...refusal, leaseLeftMs: null, ageMs: null }
        : refusal
    },
  },
  'lets a duplicate prolong the lease': {
    afterRefusal: (record, { leaseMs }, outcome) =>
      outcome === 'in_progress'
        ? { ...record, leaseUntil: (record.leaseUntil ?? 0) + leaseMs }
        : record,
  },
  'lets a replay prolong the retention': {
    afterRefusal: (record, { retentionMs }, outcome) =>
      outcome === 'replay' ? { ...record, expiresAt: record.expiresAt + retentionMs } : record,
  },
  'lets a mismatch write its fingerprint': {
    afterRefusal: (record, { fingerprint }, outcome) =>
      outcome === 'mismatch' ? { ...record, fingerprint } : record,
  },
  'lets who does not take an unknown outcome end it': {
    afterRefusal: (record, _request, outcome) =>
      outcome === 'unknown' ? { ...record, owner: null, leaseUntil: null } : record,
  },
  'runs again what its own run finished': decidingWith((decision, { record, claimant }) =>
    decision.kind === 'replay' && record?.owner === claimant.owner
      ? { kind: 'execute', fence: 1, fresh: true, abandoned: false }
      : decision,
  ),
  'compares the newest fingerprint only': {
    claimant: (request) => ({ ...request, fingerprints: [request.fingerprint] }),
  },
  'compares no fingerprint': {
    decide: (record, claimant, now) =>
      decide(record, { ...claimant, fingerprints: record ? [record.fingerprint] : [] }, now),
  },
  'compares the fingerprint last': { decide: decideMismatchLast },
  'takes its owner at its word': {
    decide: (record, claimant, now) => {
      const own = record !== undefined && record.owner === claimant.owner
      return decide(
        record,
        own ? { ...claimant, fingerprints: [record.fingerprint] } : claimant,
        now,
      )
    },
  },
  'tells ids apart in lower case': { slot: (id) => id.toLowerCase() },
  'never lets go of a lapsed lease': decidingWith((decision) =>
    decision.kind === 'resume' || decision.kind === 'recover' || decision.kind === 'unknown'
      ? { kind: 'in_progress' }
      : decision,
  ),
  'starts again instead of resuming': decidingWith((decision) =>
    decision.kind === 'resume' || decision.kind === 'recover'
      ? { kind: 'execute', fence: decision.fence, fresh: true, abandoned: false }
      : decision,
  ),
  'recovers whatever outcome is unknown': {
    decide: (record, claimant, now) => decide(record, { ...claimant, takesUnknown: true }, now),
  },
  'resumes without state': {
    granted: (grant, record) => ({ ...granted(grant, record), state: null }),
  },
  'resumes without input': {
    granted: (grant, record) => ({ ...granted(grant, record), input: null }),
  },
  'leaves the owner at a suspension': {
    suspended: (record) => ({ ...record, leaseUntil: null }),
  },
  'leaves the lease at a suspension': { suspended: (record) => ({ ...record, owner: null }) },
  'checks the fence only': {
    holds: (record, claim) => !record.response && isFence(record, claim),
  },
  'checks the owner only': {
    holds: (record, claim) => !record.response && isOwner(record, claim),
  },
  'lets every older fence write': {
    holds: (record, claim) => !record.response && claim.fence <= record.fence,
  },
  'lets every newer fence write': {
    holds: (record, claim) => !record.response && claim.fence >= record.fence,
  },
  'lets everybody write': { holds: () => true },
  'lets its run write after the end': {
    holds: (record, claim) => isOwner(record, claim) && isFence(record, claim),
  },
  'lets nobody write after the lease': {
    holds: (record, claim, now) =>
      transition.holds(record, claim) && (record.leaseUntil ?? 0) > now,
  },
  'lets nobody write after the retention': {
    holds: (record, claim, now) => transition.holds(record, claim) && record.expiresAt > now,
  },
  'takes every finish for a repeated one': { finishedBy: (record) => !!record?.response },
  'knows no repeated finish': { finishedBy: () => false },
  'renews from the end of the lease': {
    renewed: (record, leaseMs, now) =>
      transition.renewed(record, leaseMs, record.leaseUntil ?? now),
  },
  'does not renew': { renewed: (record) => record },
  'keeps the retention when it renews': {
    renewed: (record, leaseMs, now) => ({ ...record, leaseUntil: now + leaseMs }),
    advanced: (record, step, now) => ({
      ...transition.advanced(record, step, now),
      expiresAt: record.expiresAt,
    }),
  },
  'shortens the retention when it renews': {
    renewed: (record, leaseMs, now) => ({
      ...transition.renewed(record, leaseMs, now),
      expiresAt: now + leaseMs,
    }),
  },
  'does not advance': { advanced: (record) => record },
  'advances without the lease': {
    advanced: (record, { recoveryPoint, state }) => ({ ...record, recoveryPoint, state }),
  },
  'clears nothing when it advances': {
    advanced: (record, step, now) => ({
      ...transition.advanced(record, step, now),
      recoveryPoint: step.recoveryPoint ?? record.recoveryPoint,
      state: step.state ?? record.state,
    }),
  },
  'does not let go of input and state': {
    finished: (record, end, now) => ({
      ...transition.finished(record, end, now),
      ...{ input: record.input, state: record.state },
    }),
  },
  'does not let go of the lease at the end': {
    finished: (record, end, now) => ({
      ...transition.finished(record, end, now),
      leaseUntil: record.leaseUntil,
    }),
  },
  'counts the retention from the creation': {
    finished: (record, end, now) => ({
      ...transition.finished(record, end, now),
      ...{ finishedAt: record.createdAt, expiresAt: record.createdAt + end.retentionMs },
    }),
  },
  'keeps an answer as long as the record': {
    finished: (record, end, now) => ({
      ...transition.finished(record, end, now),
      expiresAt: Math.max(record.expiresAt, now + end.retentionMs),
    }),
  },
  'loses the resource': {
    finished: (record, end, now) => transition.finished(record, { ...end, resource: null }, now),
  },
  'never expires': {
    decide: (record, claimant, now) =>
      decide(record && { ...record, expiresAt: Number.POSITIVE_INFINITY }, claimant, now),
  },
  'expires too early': {
    decide: (record, claimant, now) =>
      decide(record && { ...record, expiresAt: record.expiresAt - 7_200_000 }, claimant, now),
  },
  'says nothing of what was abandoned': decidingWith((decision) =>
    decision.kind === 'execute' ? { ...decision, abandoned: false } : decision,
  ),
  'takes every expired record for abandoned': decidingWith((decision, { record, now }) =>
    decision.kind === 'execute' && record !== undefined && isExpired(record, now)
      ? { ...decision, abandoned: true }
      : decision,
  ),
  'takes every fresh record for abandoned': decidingWith((decision) =>
    decision.kind === 'execute' ? { ...decision, abandoned: true } : decision,
  ),
  'does not forget': { forgets: false },
  'knows no standing but running and finished': {
    statusOf: (record) => (record.response ? 'finished' : 'running'),
  },
  'takes unfinished records for kept': {
    statusOf: (record, now) => (record.response ? statusOf(record, now) : statusOf(record, 0)),
  },
  'sweeps unfinished records': { sweepable: isExpired },
  'sweeps live answers': { sweepable: isFinished },
  'sweeps nothing': { sweepable: () => false },
  'wakes at a finish only': { wakes: (change) => change === 'finish' },
  'wakes at a release only': { wakes: (change) => change !== 'finish' },
}
