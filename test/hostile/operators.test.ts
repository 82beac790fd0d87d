import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../src/cli/errors.ts'
import { createDashboard } from '../../src/dashboard/index.ts'
import { type AdminWorld, memoryWorld, postgresWorld, put } from '../admin/world.ts'
import { cli } from '../cli/harness.ts'
import { Chance } from '../engine/chance.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { among, mutated } from './mutate.ts'

const QUERIES = 400
const ORDERS = 200
const LINES = 120

/** Values that filters, cursors and ids are made of. */
const VALUES = [
  ...[
    '1',
    '0',
    '-1',
    '1e3',
    '0x10',
    '999999999999999999999',
    'NaN',
    '',
    ' ',
    '*',
    'key-*',
    '%',
    '_',
  ],
  ...['running', 'finished', 'nonsense', 'true', 'created', 'a.b.c', 'eyJhIjoxfQ', 'AAAA', '[1,2]'],
  ...["'; drop table records; --", '\\x00', '\u0000', '\ud800', 'é', '٣', '2026-01-01', '{"a":1}'],
  ...['00000000-0000-0000-0000-000000000000', 'x'.repeat(3000), '../..', '__proto__', 'infinity'],
]
const PATHS = [
  ...[
    'hello',
    'overview',
    'pulse',
    'counts',
    'requests',
    'requests/x',
    'keys',
    'letters',
    'letters/1',
  ],
  ...[
    'duplicates',
    'jobs',
    'workers',
    'audit',
    'batches/1',
    'events/../x',
    '%00',
    '%zz',
    'assets/../x',
  ],
]
const NAMES = [
  ...[
    'limit',
    'after',
    'state',
    'operation',
    'caller',
    'key',
    'recoveryPoint',
    'requestId',
    'status',
  ],
  ...['olderThanMs', 'duplicatesMin', 'window', 'result', 'settled', 'q', 'id', '__proto__'],
]
const ORDER_PATHS = [
  ...[
    'requests/x/reveal',
    'requests/x/resume',
    'requests/x/release',
    'requests/x/expire',
    'batches',
  ],
  ...['letters/1/settle', 'jobs/x/retry', 'workers/reaper/pause', 'batches/1/cancel'],
]
const BODIES = [
  ...['{"reason":"because","confirm":"last"}', '{"filter":{"states":["stuck"]},"action":"resume"}'],
  ...['{"way":"happened","status":200,"body":{"a":1},"reason":"r"}', '[]', '{', '{"reason":null}'],
  ...['{"filter":{"limit":{}},"reason":"r"}', '{"way":"give_up","status":"x","reason":"\\u0000"}'],
]

/** Half characters can be in no URL. */
const wellFormed = (text: string) => Buffer.from(text).toString()

describe.each([
  ['memory', memoryWorld],
  ['PostgreSQL', postgresWorld],
])('what operators send, on %s', (_, make) => {
  let world: AdminWorld
  let ids: readonly string[]
  let answer: ReturnType<typeof createDashboard>
  beforeAll(async () => {
    world = await make()
    const claims = []
    for (const standing of ['running', 'finished', 'failed'] as const) {
      claims.push(await put(world, standing))
    }
    ids = claims.map(({ id }) => id)
    answer = createDashboard({ admin: world.admin(), unsafeNoAuth: true, basePath: '/d' })
  })
  afterAll(() => world.dispose())

  it('any query, cursor and path of the dashboard gets an answer below 500', async () => {
    const chance = new Chance(1)
    const cursors = [...VALUES, ...ids]
    for (let number = 0; number < QUERIES; number++) {
      const query = new URLSearchParams()
      for (let left = among(chance, [0, 1, 1, 2, 3]); left > 0; left--) {
        const value = chance.happens(0.5) ? among(chance, cursors) : mutated(chance, cursors)
        query.append(among(chance, NAMES), value)
      }
      const path = chance.happens(0.8)
        ? among(chance, PATHS).replace('x', encodeURIComponent(wellFormed(among(chance, cursors))))
        : encodeURI(wellFormed(mutated(chance, PATHS)))
      const url = `http://a.example/d/api/${path}?${query}`
      const { status } = await answer(new Request(url))
      expect([url, status, status < 500]).toEqual([url, status, true])
    }
  })

  it('any order to the dashboard gets an answer below 500', async () => {
    const chance = new Chance(2)
    for (let number = 0; number < ORDERS; number++) {
      const id = among(chance, ids)
      const path = among(chance, ORDER_PATHS).replace('x', id)
      const body = chance.happens(0.5) ? among(chance, BODIES) : mutated(chance, BODIES)
      const headers = {
        ...{ 'idempotency-key': `order-${number}`, 'content-type': 'application/json' },
        ...{ origin: 'http://a.example', 'sec-fetch-site': 'same-origin' },
      }
      const request = new Request(`http://a.example/d/api/${path}`, {
        method: 'POST',
        headers,
        body,
      })
      const { status } = await answer(request)
      expect([path, body, status, status < 500]).toEqual([path, body, status, true])
    }
  })
})

describe('what is typed', () => {
  let database: TemporaryDatabase
  beforeAll(async () => {
    database = await temporaryDatabase()
  })
  afterAll(() => database.drop())

  const COMMANDS = [
    ...[
      'keys list',
      'keys get',
      'keys release',
      'keys expire',
      'dead list',
      'dead show',
      'dead resolve',
    ],
    ...['stats', 'migrate status', 'info', 'help', 'version', 'completion', 'nonsense', 'keys', ''],
  ]
  const FLAGS = [
    ...[
      '--json',
      '--limit',
      '--after',
      '--state',
      '--caller',
      '--operation',
      '--output',
      '--key',
      '-o',
    ],
    ...['--way', '--status', '--body', '--reason', '--author', '--yes', '--confirm', '--settled'],
    ...[
      '--no-input',
      '--schema',
      '--',
      '---',
      '--nonsense',
      '--limit=',
      '--=',
      '-',
      '--older-than',
    ],
  ]

  it('any line has an exit code and a sentence, never a stack', async () => {
    const env = { DATABASE_URL: database.url }
    expect((await cli(['migrate', 'up'], { env })).exit).toBe(EXIT.ok)
    const chance = new Chance(3)
    for (let number = 0; number < LINES; number++) {
      const words = among(chance, COMMANDS).split(' ')
      const rest = Array.from({ length: among(chance, [0, 1, 2, 3, 5]) }, () => {
        if (chance.happens(0.4)) return among(chance, FLAGS)
        return chance.happens(0.6) ? among(chance, VALUES) : mutated(chance, VALUES)
      })
      const argv = [...words, ...rest]
      const { exit, stdout, stderr } = await cli(argv, { env })
      const isCalm = !/REPRISE_E_BUG|\n {4}at |TypeError|RangeError/.test(stdout + stderr)
      const isExplained = exit === EXIT.ok || stderr.trim() !== '' || stdout.trim() !== ''
      expect([argv, exit, stderr, isCalm, isExplained]).toEqual([argv, exit, stderr, true, true])
      expect(Object.values<number>(EXIT)).toContain(exit)
    }
  })
})
