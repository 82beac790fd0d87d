/**
 * Checks that the handler finds its body, wherever the parser stands, and that what is compared is
 * what the request says.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { AdapterCheck, Deed, ParserPlace } from './harness.ts'
import { type Ask, assertProblem, hasParser, inWorld, patient, type WorldSpec } from './world.ts'

const FORM = 'application/x-www-form-urlencoded'
const LARGE = Buffer.alloc(3_000_000, 'Reprise ')

/** Notes the bodies that handlers find. */
function noting(bodies: unknown[]): Pick<WorldSpec, 'deed'> {
  return {
    async deed({ body }): Promise<Deed> {
      bodies.push(body instanceof Uint8Array ? Buffer.from(body) : body)
      return { status: 200, how: 'send', body: 'noted' }
    },
  }
}

/** A check for one place of the parser. */
function withParser(
  place: ParserPlace,
  { name, ask, expected }: { name: string; ask: Ask; expected: unknown },
): AdapterCheck {
  return {
    name: `leaves ${name} to the handler, ${PLACES[place]}`,
    appliesTo: (harness) => hasParser(harness, place),
    async check(harness) {
      const bodies: unknown[] = []
      await inWorld(harness, { ...noting(bodies), parser: place }, async (world) => {
        await world.ask(ask)
        await world.replay(ask)
        await world.ask({ ...ask, key: null })
      })
      assert.deepEqual(bodies.map(plain), [expected, expected])
    },
  }
}

const PLACES: Readonly<Record<ParserPlace, string>> = {
  before: 'with a parser before the protection',
  after: 'with a parser after the protection',
  none: 'without a parser',
}

/** Parsers differ in the prototypes of what they make. */
function plain(body: unknown): unknown {
  return Buffer.isBuffer(body) ? body : JSON.parse(JSON.stringify(body))
}

const PARSED: readonly { name: string; ask: Ask; expected: unknown }[] = [
  { name: 'JSON', ask: { body: '{"amount":100}' }, expected: { amount: 100 } },
  { name: 'a form', ask: { type: FORM, body: 'a=1&b=%C3%A9' }, expected: { a: '1', b: 'é' } },
]

const RAW: readonly { name: string; ask: Ask; expected: Buffer }[] = [
  { name: 'text', ask: { type: 'text/plain', body: 'Grüße' }, expected: Buffer.from('Grüße') },
  { name: 'nothing', ask: { body: '' }, expected: Buffer.alloc(0) },
  {
    name: 'a large upload',
    ask: { type: 'application/octet-stream', body: LARGE },
    expected: LARGE,
  },
  {
    name: 'an upload in chunks',
    ask: {
      type: 'application/octet-stream',
      headers: [['Transfer-Encoding', 'chunked']],
      body: '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
    },
    expected: Buffer.from('abcde'),
  },
]

function multipart(boundary: string, content = '1'): Ask {
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n${content}\r\n--${boundary}--\r\n`,
  }
}

/** Bodies, read and compared. */
export const bodyChecks: readonly AdapterCheck[] = [
  ...PARSED.flatMap((body) => [withParser('before', body), withParser('after', body)]),
  ...RAW.map((body) => withParser('none', body)),
  {
    name: 'takes the same form in another order for the same request',
    check: (harness) =>
      inWorld(harness, {}, async (world) => {
        await world.ask({ type: FORM, body: 'a=1&b=2&a=3' })
        await world.replay({ type: FORM, body: 'b=2&a=1&a=3' })
        const swapped = await world.ask({ type: FORM, body: 'b=2&a=3&a=1' })
        assertProblem(swapped, 422, 'idempotency-key-reused')
      }),
  },
  {
    name: 'takes a form with uploads that is encoded again for the same request',
    appliesTo: (harness) => hasParser(harness, 'none'),
    check: (harness) =>
      inWorld(harness, { parser: 'none' }, async (world) => {
        await world.ask(multipart('one'))
        await world.replay(multipart('one'))
        await world.replay(multipart('two'))
        assertProblem(await world.ask(multipart('one', '2')), 422, 'idempotency-key-reused')
      }),
  },
  {
    name: 'compares a form with uploads byte by byte where the route says so',
    appliesTo: (harness) => hasParser(harness, 'none'),
    check: (harness) => {
      const spec: WorldSpec = { parser: 'none', options: { fingerprint: { multipart: 'bytes' } } }
      return inWorld(harness, spec, async (world) => {
        await world.ask(multipart('one'))
        await world.replay(multipart('one'))
        assertProblem(await world.ask(multipart('two')), 422, 'idempotency-key-reused')
      })
    },
  },
  {
    name: 'leaves out of the comparison what the route says',
    check: (harness) => {
      const fingerprint = { exclude: ['sentAt', 'items[].at'], excludeQuery: ['trace'] }
      return inWorld(harness, { options: { fingerprint } }, async (world) => {
        await world.ask({ path: '/items/1?trace=1', body: '{"a":1,"sentAt":1,"items":[{"at":1}]}' })
        await world.replay({
          path: '/items/1?trace=2',
          body: '{"sentAt":2,"a":1,"items":[{"at":2}]}',
        })
      })
    },
  },
  {
    name: 'refuses a body over the limit before anything is done',
    appliesTo: (harness) => hasParser(harness, 'none'),
    check: (harness) => {
      const spec: WorldSpec = { parser: 'none', options: { fingerprint: { bodyBytesMax: 100 } } }
      return inWorld(harness, spec, async (world) => {
        const over: Ask = { type: 'text/plain', body: 'x'.repeat(101) }
        const refused = await world.ask(over)
        assertProblem(refused, 413, 'idempotency-body-too-large')
        assert.match(String(refused.json['detail']), /^The body has over 100 bytes\. /)
        assert.equal(world.runs, 0)
        assert.equal((await world.ask({ ...over, body: 'x'.repeat(100) })).status, 201)
      })
    },
  },
  {
    name: 'refuses a body over the limit as soon as it is known, without waiting for the rest',
    appliesTo: (harness) => hasParser(harness, 'none'),
    check: (harness) => {
      const spec: WorldSpec = { parser: 'none', options: { fingerprint: { bodyBytesMax: 100 } } }
      return inWorld(harness, spec, async (world) => {
        const type = 'application/octet-stream'
        const chunked: Ask = { type, headers: [['Transfer-Encoding', 'chunked']], body: '' }
        const long: Ask = { type, headers: [['Content-Length', '101']], body: 'x' }
        const unended = `78\r\n${'x'.repeat(120)}\r\n`
        for (const ask of [{ ...chunked, body: unended }, long]) {
          const sending = world.open(ask)
          await patient(sending.received('"idempotency-body-too-large"'), 'the refusal')
          await sending.cut()
        }
        assert.equal(world.runs, 0)
      })
    },
  },
  {
    name: 'refuses JSON with two members of one name',
    appliesTo: (harness) => hasParser(harness, 'none'),
    check: (harness) =>
      inWorld(harness, { parser: 'none' }, async (world) => {
        const answer = await world.ask({ body: '{"amount":1,"amount":100}' })
        assertProblem(answer, 400, 'idempotency-body-invalid')
        assert.match(String(answer.json['detail']), /^[^.]*name/)
        assert.equal(world.runs, 0)
      }),
  },
]
