/**
 * Checks that answers too large or too long to be kept go through, and are not run again.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { AdapterCheck, Deed } from './harness.ts'
import type { Answer } from './raw-client.ts'
import {
  assertUnkept,
  Gate,
  inOneWorld,
  inWorld,
  patient,
  type World,
  type WorldSpec,
} from './world.ts'

const BYTES_TYPE = ['Content-Type', 'application/octet-stream'] as const
const PIECE = Buffer.alloc(100_000, 'Reprise! ')
const PIECES = 60

async function* large(): AsyncIterable<Uint8Array> {
  for (let count = 0; count < PIECES; count++) yield PIECE
}

function digestOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

const LARGE = Buffer.concat(Array.from({ length: PIECES }, () => PIECE))

const LARGE_DEEDS: readonly (readonly [name: string, deed: () => Promise<Deed>])[] = [
  ['a body', async () => ({ status: 200, headers: [BYTES_TYPE], how: 'send', body: LARGE })],
  ['a stream', async () => ({ status: 200, headers: [BYTES_TYPE], how: 'stream', body: large() })],
]

/** Two pieces, the second after the gate. */
function twoPieces(gate: Gate, type: string): Pick<WorldSpec, 'deed'> {
  async function* pieces(): AsyncIterable<Uint8Array> {
    yield Buffer.from('data: one\n\n')
    await gate.opened
    yield Buffer.from('data: two\n\n')
  }
  const head = { status: 200, headers: [['Content-Type', type]] } as const
  return { deed: async () => ({ ...head, how: 'stream', body: pieces() }) }
}

/** Demands that the first piece is there before the second is made, and that nothing runs again. */
async function letsThrough(world: World, gate: Gate): Promise<void> {
  const first = world.open()
  await patient(first.received('data: one'), 'the first piece')
  assertOmitted(await world.replay())
  gate.open()
  const answer = await patient(first.answer, 'the end of the stream')
  assert.equal(answer.text, 'data: one\n\ndata: two\n\n')
  assertUnkept(answer)
  assertOmitted(await world.replay())
}

function assertOmitted(answer: Answer): void {
  assert.equal(answer.status, 200)
  assert.equal(answer.body.byteLength, 0)
  assert.equal(answer.header('idempotency-stored'), undefined)
  assert.match(answer.header('idempotency-body-omitted') ?? '', /^(?:unknown|[1-9]\d*)$/)
}

/** Answers that can not be kept whole. */
export const streamChecks: readonly AdapterCheck[] = [
  ...LARGE_DEEDS.map(
    ([name, deed]): AdapterCheck => ({
      name: `gives ${name} over the limit whole, and its replay says that it is missing`,
      check: inOneWorld({ deed }, async (world) => {
        const first = await world.ask()
        assert.equal(first.status, 200)
        assert.equal(first.body.byteLength, LARGE.byteLength)
        assert.equal(digestOf(first.body), digestOf(LARGE))
        assertUnkept(first)

        const again = await world.replay()
        assertOmitted(again)
        assert.equal(again.header('content-type'), 'application/octet-stream')
      }),
    }),
  ),
  {
    name: 'lets server-sent events through at once, and leaves no record in progress',
    check: (harness) => {
      const gate = new Gate()
      const spec = twoPieces(gate, 'text/event-stream')
      return inWorld(harness, spec, (world) => letsThrough(world, gate))
    },
  },
  {
    name: 'lets any stream through at once where the route says so',
    check: (harness) => {
      const gate = new Gate()
      const spec: WorldSpec = { ...twoPieces(gate, 'text/plain'), options: { streams: 'bypass' } }
      return inWorld(harness, spec, (world) => letsThrough(world, gate))
    },
  },
  {
    name: 'leaves no record in progress when a stream fails',
    check: (harness) => {
      async function* failing(): AsyncIterable<Uint8Array> {
        yield Buffer.from('half')
        throw new Error('The source failed.')
      }
      const deed: WorldSpec['deed'] = async () => ({
        ...{ status: 200, headers: [['Content-Type', 'text/plain']] },
        ...{ how: 'stream', body: failing() },
      })
      return inWorld(harness, { deed, options: { waitMs: 5000 } }, async (world) => {
        const first = world.open()
        await world.begun()
        // The framework cuts the connection or makes an error of it; either way it is over.
        await patient(
          first.answer.catch(() => undefined),
          'the end of the first answer',
        )
        const again = await world.ask()
        assert.notEqual(again.text.includes('idempotency-in-progress'), true)
        assert.notEqual(again.header('idempotent-replayed') === 'true' && again.text, 'half')
      })
    },
  },
]
