import type { Checks } from '../checks.ts'
import type { Tables } from '../database/tables.ts'
import type { Outside } from '../provider.ts'

/** What there is besides processes. */
export interface Surroundings {
  readonly tables: Tables
  readonly outside: Outside
  readonly checks: Checks
  /** Whether a token is of a run that may not be over. */
  readonly isLive: (owner: string) => boolean
}

/** What the database, the world outside and what the checks know have come to, in words. */
export function stateOf({ tables, outside, checks, isLive }: Surroundings): readonly string[] {
  const { records, letters, attempts, jobs, rows, sessions } = tables
  const now = tables.now()
  const ago = (instant: number) => Math.max(-99_999, Math.min(99_999, instant - now))
  const since = (instant: number | null) => (instant === null ? '' : ago(instant))
  const makings = [...records.values(), ...letters, ...rows].map(({ made }) => made ?? 0)
  const ranks = [...new Set(makings)].sort((one, other) => one - other)
  const rank = (made: number | null) => ranks.indexOf(made ?? 0)
  const recordTexts = [...records.values()].map((record) => [
    ...[record.key, record.fence, record.owner, since(record.leaseUntil), record.recoveryPoint],
    ...[text(record.response?.sealed), text(record.state), rank(record.made), record.fingerprint],
    ...[ago(record.expiresAt), ago(record.createdAt), record.tries, since(record.triedAt)],
  ])
  const letterTexts = letters.map(({ key, cause, point, settlement, fence, made, tellAfter }) => {
    return [key, cause, point, settlement?.way, fence, rank(made), since(tellAfter)]
  })
  const begun = attempts.filter(({ endedAt, ending }) => endedAt === null || ending === 'denied')
  const attemptTexts = begun.map(({ point, fence, callKey, ending, beganAt, recordId }) => {
    return [recordId.slice(0, 4), point, fence, callKey, ending, ago(beganAt)]
  })
  return [
    JSON.stringify([sorted(recordTexts), letterTexts, attemptTexts, jobs.map(({ args }) => args)]),
    ...sorted(rows.map(({ what, by, made }) => ['row', what, by, rank(made)])),
    ...[...sessions].map((session) => session.inWords()).sort(),
    ...sorted(outside.effects.map(({ by, owner }) => ['effect', by, owner])),
    ...sorted(outside.charges.map(({ ride, point, key }) => ['charge', ride, point, key])),
    checks.inWords({ ago, isLive }),
  ]
}

/** In an order that does not say which came first. */
function sorted(all: readonly (readonly unknown[])[]): readonly string[] {
  return all.map((one) => JSON.stringify(one)).sort()
}

function text(sealed: Uint8Array | null | undefined): string {
  return sealed == null ? '' : Buffer.from(sealed).toString('latin1')
}
