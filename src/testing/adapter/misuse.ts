/**
 * Checks that mistakes are told in a sentence, at start or at the first request.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { isRepriseError } from '../../core/errors.ts'
import { keyAge } from '../../engine/key-age.ts'
import type { AdapterCheck, AdapterHarness } from './harness.ts'
import { inOneWorld, inWorld, type World, type WorldSpec } from './world.ts'

/** Demands that an error says which option is wrong, and how. */
export function assertMisuse(error: unknown, sentence: RegExp): void {
  assert.ok(isRepriseError(error), String(error))
  assert.equal(error.code, 'reprise-options-invalid')
  assert.match(error.message, sentence)
}

/** Demands that the framework's error handling was told, and that the handler did not run. */
async function assertTold(world: World, sentence: RegExp): Promise<void> {
  const answer = await world.ask()
  assert.ok(answer.status >= 500, `The status is ${answer.status}`)
  assert.equal(world.served.errors.length, 1)
  assertMisuse(world.served.errors[0], sentence)
  assert.equal(world.runs, 0)
}

/** Settings that can never work. */
const NEVER: readonly (readonly [options: NonNullable<WorldSpec['options']>, sentence: RegExp])[] =
  [
    [{ transaction: true }, /the store has no transactions/],
    [{ methods: ['POST', 'get'] }, /methods names GET/],
    [{ methods: [] }, /methods is empty/],
    [
      { keyAge: keyAge({ ageMsMax: 86_400_001 }) },
      /ageMsMax \(86400001\) is longer than retentionMs/,
    ],
    [{ keyAge: keyAge({ ageMsMax: 60_001 }), retentionMs: 60_000 }, /ageMsMax \(60001\) is longer/],
    [{ preferWaitMsMax: -1 }, /preferWaitMsMax must be/],
    [{ leaseMs: 1 }, /leaseMs must be/],
  ]

/** Demands that the app can not be set up. */
async function assertRefused(
  harness: AdapterHarness,
  options: NonNullable<WorldSpec['options']>,
  sentence: RegExp,
): Promise<void> {
  const serving = inWorld(harness, { options }, async () => {})
  await assert.rejects(serving, (error) => {
    assertMisuse(error, sentence)
    return true
  })
}

/** Mistakes of whoever sets it up. */
export const misuseChecks: readonly AdapterCheck[] = [
  {
    name: 'tells that it is mounted twice, and does not run the handler',
    check: inOneWorld({ isMountedTwice: true }, (world) => assertTold(world, /protected twice/)),
  },
  {
    name: 'tells that a request has no caller, and does not run the handler',
    check: inOneWorld({ options: { caller: () => '' } }, (world) =>
      assertTold(world, /caller\(\) gave no caller/),
    ),
  },
  {
    name: 'tells that keys may be older than the answers of a caller are kept',
    check: inOneWorld(
      {
        options: { keyAge: keyAge({ ageMsMax: 60_001 }), retentionMs: (caller) => Number(caller) },
      },
      async (world) => {
        assert.equal((await world.ask({ caller: '60001' })).status, 201)
        const answer = await world.ask({ caller: '60000' })
        assert.ok(answer.status >= 500, `The status is ${answer.status}`)
        assertMisuse(world.served.errors[0], /ageMsMax \(60001\) is longer than retentionMs/)
        assert.equal(world.runs, 1)
      },
    ),
  },
  {
    name: 'refuses at start what can never work',
    async check(harness) {
      for (const [options, sentence] of NEVER) await assertRefused(harness, options, sentence)
    },
  },
  {
    name: 'refuses at start to do without a caller',
    async check(harness) {
      const caller: unknown = undefined
      // Not every user has types.
      const options = { caller } as { caller: () => string }
      await assertRefused(harness, options, /caller is missing/)
    },
  },
]
