/**
 * What somebody is told who configures it wrongly.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isRepriseError } from '../../src/core/errors.ts'
import { WRONG } from './wrong-options.ts'

const page = readFileSync(new URL('../../docs/guides/options.md', import.meta.url), 'utf8')

test('at least sixty wrong configurations are known', () => {
  expect(WRONG.length).toBeGreaterThanOrEqual(60)
})

test.each(WRONG)(
  '%s is refused at start, by a message that stands in the guide',
  (written, call) => {
    const error = thrownBy(call)

    if (!isRepriseError(error)) throw new Error(`It was told ${String(error)}.`)
    expect(error.code).toMatch(/^reprise-(options-invalid|transactions-unsupported)$/)
    expect(error.retryable).toBe(false)
    expect(error.message).not.toMatch(/hunter2|that the message names/)
    expect(page).toContain(`| \`${written}\` | ${error.detail} |`)
  },
)

function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return 'nothing'
}
