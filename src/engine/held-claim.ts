/**
 * Claims that go with the first statement.
 *
 * @module
 */

import type { RunResult } from './result.ts'
import type { HeldClaim } from './transactions.ts'

/** Read once: to ask for it is slow. */
const IS_DEVELOPMENT = process.env['NODE_ENV'] === 'development'

/** Whether handlers are run as those of duplicates first. */
export function isRehearsed({
  rehearse = IS_DEVELOPMENT,
}: {
  readonly rehearse?: boolean
}): boolean {
  return rehearse
}

/** A claim that was granted with the first statement, or what is due to a request that was refused. */
export function claimedBy(
  held: HeldClaim,
  ended: Promise<RunResult>,
): Promise<RunResult | undefined> {
  return new Promise((resolve, reject) => {
    held.whenGranted(() => resolve(undefined))
    ended.then((result) => {
      const { outcome } = result
      resolve(outcome === 'executed' || outcome === 'resumed' ? undefined : result)
    }, reject)
  })
}
