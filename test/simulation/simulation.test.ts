import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { atLength } from '../support/at-length.ts'
import { playSeed } from './run.ts'
import { replayOf, shrink } from './shrink.ts'

/** `SIMULATION_SEEDS=100000` plays more; `SIMULATION_FIRST` begins with another than the first. */
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? atLength(300, 2000))
const FIRST = Number(process.env['SIMULATION_FIRST'] ?? 1)

/** What has to come about in so many worlds: one in which nothing goes wrong proves nothing. */
const SEEN = [
  ...['crash', 'buried outcome_unknown', 'buried abandoned', 'buried graph_changed'],
  ...['settled happened', 'settled resume', 'settled give_up', 'lease executed', 'lease resumed'],
  ...['lease replayed', 'lease unknown', 'lease mismatch', 'lease executed not_stored'],
  ...['lease executed forgotten', 'transaction executed', 'transaction replayed'],
  ...['transaction mismatch', 'transaction in_progress', 'transaction idempotency-commit-unknown'],
  ...['transaction refused with its first statement', 'transaction over_quota'],
  ...['lease over_quota', 'phases over_quota'],
  ...['call late', 'call hung', 'phase hung', 'call denied, and carried out later'],
  ...['reconcile honest', 'reconcile silent', 'reconcile garbage', 'reconcile throws'],
  ...['reconcile hangs', 'reconcile voids', 'call repeated with-key', 'call repeated always'],
  ...['migrate renames', 'migrate skips a phase', 'migrate settles a call'],
  ...['deploy of additions', 'deploy of removals', 'deploy of renames', 'deploy of reorders'],
  ...['deploy of versions', 'deploy of moved start', 'deploy of tightened input'],
  ...['rollback of additions', 'rollback of renames', 'phases idempotency-input-invalid'],
  ...['clock of the database set back', 'clock of the database set ahead'],
  ...['clock of a process set back', 'operator resumes what happened', 'operator is late'],
  ...['operator answers what did not happen'],
  ...['phases executed', 'phases resumed', 'phases replayed', 'phases postponed', 'phases unknown'],
]

describe('simulated worlds', () => {
  it(`hold every promise, in ${SEEDS} of them`, async () => {
    const seen = new Set<string>()
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
      const played = await playSeed(seed)
      if (played.violation !== undefined) {
        const part = await shrink(seed, {})
        throw new Error(`${played.violation}\n${replayOf(seed, part)}`)
      }
      for (const what of played.seen.keys()) seen.add(what)
    }
    expect(SEEDS < 2000 ? [] : SEEN.filter((what) => !seen.has(what))).toEqual([])
  }, 3_600_000)

  it('are the same for the same seed, byte by byte, also in another process', async () => {
    const main = join(import.meta.dirname, 'main.ts')
    for (const seed of [3, 12]) {
      const [one, other] = [
        await playSeed(seed, { isTraced: true }),
        await playSeed(seed, { isTraced: true }),
      ]
      expect(one.lines.length).toBeGreaterThan(100)
      expect(other.lines).toEqual(one.lines)
      const args = ['--import', 'tsx', main, '--seed', String(seed), '--hash']
      const { stdout } = await promisify(execFile)(process.execPath, args)
      expect(stdout.trim()).toBe(one.hash)
    }
  }, 600_000)

  it('are made smaller when they fail, and fail in the same way', async () => {
    const settings = { flaws: new Set(['settled-twice'] as const) }
    let seed = 1
    while ((await playSeed(seed, settings)).violation === undefined) seed++
    const part = await shrink(seed, settings)

    const { violation, options } = await playSeed(seed, settings, part)
    expect(violation).toMatch(/^letter \d+ is settled twice$/)
    expect(part.keep?.length).toBeLessThanOrEqual(options.acts.length)
    expect(replayOf(seed, part)).toMatch(/^npm run sim -- --seed \d+ --keep [\d,]+/)
  }, 600_000)
})
