/**
 * Checks that what goes in comes out, byte for byte and character for character.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { STARTED } from '../../core/record.ts'
import type { StoreCheck, StoreHarness } from '../harness.ts'
import {
  assertBytes,
  digest,
  expectFound,
  rivalOf,
  sampleFinish,
  sampleRequest,
  stepTo,
  take,
} from './sample.ts'

const PAYLOADS: readonly { readonly name: string; readonly payload: Uint8Array }[] = [
  { name: 'every byte value', payload: Uint8Array.from({ length: 256 }, (_, index) => index) },
  { name: 'no bytes at all', payload: new Uint8Array() },
  { name: 'a zero byte', payload: Uint8Array.of(0) },
  {
    name: 'a mebibyte',
    payload: Uint8Array.from(
      { length: 1_048_576 },
      (_, index) => (index * 31 + (index >> 8)) % 256,
    ),
  },
]

/** Texts that trip quoting, separators, patterns, encodings and collations. */
const TEXTS: readonly { readonly name: string; readonly text: string }[] = [
  { name: 'quotes', text: `it's "quoted" \`so\` and \\'so\\'` },
  { name: 'separators', text: 'a:b|c/d\\e,f;g\tn\nr\r..{x}[y](z)<w>%41?q=1&r#s' },
  { name: 'patterns', text: '{}:*?[a-z]%_$1 ${x} $$ :name @p ?1 --x /*y*/' },
  { name: 'a word that means something elsewhere', text: 'null' },
  { name: 'digits', text: '0012' },
  { name: 'outer blanks', text: '  padded  ' },
  { name: 'emoji', text: 'e\u0301 \u00e9 \u{1f9fe}\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \ufeff' },
  { name: 'control characters', text: '\u0001\u001f\u007f\u0085\u2028' },
  { name: '255 characters', text: 'k'.repeat(255) },
  { name: 'no characters', text: '' },
]

async function assertPayloadKept({ store, peer }: StoreHarness, payload: Uint8Array) {
  const request = sampleRequest({ recoveryPoint: STARTED, input: payload })
  const { claim, input } = await take(store, request)
  assertBytes(input, payload)
  await store.advance(claim, stepTo('next', payload))
  const { record } = await expectFound(peer, request.id)
  assertBytes(record.input, payload)
  assertBytes(record.state, payload)
  await store.release(claim, 'suspend')
  const resumed = await take(peer, rivalOf(request))
  assertBytes(resumed.input, payload)
  assertBytes(resumed.state, payload)
  await store.finish(resumed.claim, sampleFinish({ response: { status: 200, sealed: payload } }))
  const replay = await peer.claim(rivalOf(request))
  assert.equal(replay.outcome, 'replay')
  assertBytes(replay.response.sealed, payload)
}

async function assertTextKept({ store, peer }: StoreHarness, text: string) {
  const origin = { requestId: text, ip: text, userAgent: text }
  const identity = { caller: text, operation: text, key: text }
  const request = sampleRequest({ ...identity, origin, recoveryPoint: text, fingerprint: text })
  const { claim, recoveryPoint } = await take(store, request)
  assert.equal(recoveryPoint, text)
  await store.release(claim, 'suspend')
  const resumed = await take(peer, rivalOf(request))
  assert.equal(resumed.recoveryPoint, text)
  await store.advance(resumed.claim, stepTo(text))
  const resource = { type: text, id: text }
  await store.finish(resumed.claim, sampleFinish({ resource }))

  const { record } = await expectFound(peer, request.id)
  const { caller, operation, key, fingerprint } = record
  assert.deepEqual({ caller, operation, key }, identity)
  assert.equal(fingerprint, text)
  assert.equal(record.recoveryPoint, text)
  assert.deepEqual({ ...record.origin }, origin)
  assert.deepEqual({ ...record.resource }, resource)
  const replay = await peer.claim(rivalOf(request))
  assert.equal(replay.outcome, 'replay')
  assert.deepEqual({ ...replay.resource }, resource)
  assert.equal(replay.requestId, text)
}

/** What goes in comes out. */
export const payloadChecks: readonly StoreCheck[] = [
  ...PAYLOADS.map(
    ({ name, payload }): StoreCheck => ({
      name: `keeps ${name} in input, state and answer`,
      check: (harness) => assertPayloadKept(harness, payload),
    }),
  ),
  ...TEXTS.map(
    ({ name, text }): StoreCheck => ({
      name: `keeps ${name} in every text`,
      check: (harness) => assertTextKept(harness, text),
    }),
  ),
  {
    name: 'tells nothing from no bytes in input and state',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: STARTED, input: null })
      const { claim, input, state } = await take(store, request)
      assert.equal(input, null)
      assert.equal(state, null)
      await store.advance(claim, stepTo('next', new Uint8Array()))
      assertBytes((await expectFound(store, request.id)).record.state, new Uint8Array())
      await store.advance(claim, stepTo('next', null))

      assertBytes((await expectFound(store, request.id)).record.state, null)
    },
  },
  {
    name: 'tells nothing from no characters in the origin',
    async check({ store }) {
      const origin = { requestId: null, ip: null, userAgent: null }
      const request = sampleRequest({ origin })
      const { claim } = await take(store, request)
      await store.finish(claim, sampleFinish())
      const { record } = await expectFound(store, request.id)

      assert.deepEqual({ ...record.origin }, origin)
      assert.equal(record.resource, null)
      const replay = await store.claim(rivalOf(request))
      assert.equal(replay.outcome, 'replay')
      assert.equal(replay.requestId, null)
    },
  },
  {
    name: 'keeps every class of status',
    async check({ store }) {
      for (const status of [100, 204, 302, 422, 599]) {
        const request = sampleRequest({ id: digest(`${status} ${sampleRequest().id}`) })
        const { claim } = await take(store, request)
        await store.finish(claim, sampleFinish({ response: { status, sealed: new Uint8Array() } }))
        const replay = await store.claim(rivalOf(request))

        assert.equal(replay.outcome, 'replay')
        assert.equal(replay.response.status, status)
      }
    },
  },
]
