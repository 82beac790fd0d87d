import type { Tables } from '../database/tables.ts'
import type { Outside } from '../provider.ts'

/** What the database and the world outside have come to, in words. */
export function stateOf(tables: Tables, outside: Outside): readonly string[] {
  const { records, letters, attempts, jobs, rows, locks } = tables
  const now = tables.now()
  const ago = (instant: number | null) => (instant === null ? '' : Math.max(-99_999, instant - now))
  const recordTexts = [...records.values()].map((record) => [
    ...[record.key, record.fence, record.owner, ago(record.leaseUntil), record.recoveryPoint],
    ...[record.response === null ? '' : Buffer.from(record.response.sealed).toString('latin1')],
    ...[ago(record.expiresAt), now - record.createdAt, record.tries, record.fingerprint],
  ])
  const letterTexts = letters.map(({ key, cause, point, settlement, fence }) => {
    return [key, cause, point, settlement?.way, fence]
  })
  const begun = attempts.filter(({ endedAt, ending }) => endedAt === null || ending === 'denied')
  const attemptTexts = begun.map(({ point, fence, callKey, ending }) => {
    return [point, fence, callKey, ending]
  })
  return [
    JSON.stringify([recordTexts, letterTexts, attemptTexts, jobs.map(({ args }) => args)]),
    JSON.stringify(rows.map(({ what, by }) => [what, by])),
    JSON.stringify([...locks.keys()].sort()),
    JSON.stringify(outside.effects.map(({ by }) => by)),
    JSON.stringify(outside.charges.map(({ ride }) => ride)),
  ]
}
