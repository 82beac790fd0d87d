/** One caller with very many keys: each runs once, and nobody else notices. */

import { fingerprintRequest } from '../../src/core/fingerprint.ts'
import { createReprise, type LeaseReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { createMetrics } from '../../src/telemetry/index.ts'
import { check } from './headers.ts'

const fingerprints = fingerprintRequest({ method: 'POST', path: '/', body: null })
/** Lines of metrics of one operation. */
const LINES_MAX = 300

async function send(reprise: LeaseReprise, caller: string, key: string): Promise<string> {
  const request = { caller, operation: 'POST /', key, fingerprints }
  const response = { status: 201, headers: [], body: new Uint8Array(10) }
  return (await reprise.run(request, async () => response)).outcome
}

/**
 * Sends so many keys of one caller.
 *
 * @throws Error with the first that does not hold
 */
export async function flood(keys: number): Promise<{ readonly keys: number }> {
  const metrics = createMetrics()
  const reprise = createReprise({ store: memoryStore(), onEvent: metrics.onEvent })
  await send(reprise, 'other', 'key-1')
  for (let number = 1; number <= keys; number++) {
    const outcome = await send(reprise, 'flood', `key-${number}`)
    check(outcome === 'executed', `key ${number} was ${outcome}`)
  }
  for (const [caller, key, expected] of [
    ['other', 'key-1', 'replayed'],
    ['flood', 'key-1', 'replayed'],
    ['flood', `key-${keys}`, 'replayed'],
    ['other', 'key-2', 'executed'],
  ] as const) {
    const outcome = await send(reprise, caller, key)
    check(outcome === expected, `${key} of ${caller} was ${outcome} and not ${expected}`)
  }
  // Neither keys nor callers are labels: their number is the client's to choose.
  const text = metrics.text()
  check(text.split('\n').length < LINES_MAX, 'the metrics grow with the keys')
  check(text.includes(` ${keys + 2}\n`), 'the metrics have lost requests')
  return { keys }
}
