/**
 * What one hostile client does to one protected app: everything about it follows from its seed.
 *
 * @module
 */

import { Chance } from '../../engine/chance.ts'

/** The servers that a client may meet. */
export type AppName =
  | 'node'
  | 'node http2'
  | 'express 4'
  | 'express 5'
  | 'koa'
  | 'fastify'
  | 'fastify http2'
  | 'hono'
  | 'nest express'
  | 'nest fastify'

/** What turns the bytes of a body into what the handler uses; `stream` leaves them to the handler. */
export type ParserName = 'json' | 'urlencoded' | 'raw' | 'multipart' | 'stream'

/** Whether the parser comes before the protection or behind it. */
export type Place = 'before' | 'behind'

/** By which interface of Node a handler reads a body that no parser has touched. */
export type Reading = 'iteration' | 'events' | 'web stream' | 'pipeline'

/** How the handler answers. */
export type AnswerShape = 'small' | 'large' | 'streamed'

/** How the client leaves; over HTTP/2 a half-close is a stream that the client cancels. */
export type Departure = 'half-close' | 'close' | 'reset' | 'stays'

/**
 * When the client leaves.
 *
 * - `sending`: when it has sent `byte` bytes of the request
 * - `slow`: never; it sends the rest some time after the first `byte` bytes
 * - `front`: while a middleware in front of the protection waits
 * - `claim`, `claimed`: before the store takes the claim, and when it has but has not said so
 * - `handler`: while the handler works, with the body in its hands
 * - `part`: when the handler has written the first part of a streamed answer
 * - `finish`: while the answer is being stored
 * - `answer`: when it has received `byte` bytes of the answer
 */
export type Moment =
  | 'sending'
  | 'slow'
  | 'front'
  | 'claim'
  | 'claimed'
  | 'handler'
  | 'part'
  | 'finish'
  | 'answer'

/** One client, one key. */
export interface Plan {
  readonly app: AppName
  readonly parser: ParserName
  readonly place: Place
  readonly reading: Reading
  /** Characters in the body's longest field. */
  readonly noteLength: number
  /** Whether the body comes in chunks, without a `Content-Length`. */
  readonly isChunked: boolean
  readonly answer: AnswerShape
  readonly moment: Moment
  readonly departure: Departure
  /** Of the request for `sending` and `slow`, of the answer for `answer`; else without meaning. */
  readonly byte: number
  /** Whether the connection has served another request before. */
  readonly isReused: boolean
  /** Whether the client asks again at once, or when what it left behind is over. */
  readonly retries: 'at once' | 'later'
}

/** The parsers that an app has, and where. A parser of uploads before the protection leaves nothing to compare. */
const PARSERS: Readonly<Record<AppName, readonly (readonly [ParserName, Place])[]>> = {
  node: [['stream', 'behind']],
  'node http2': [['stream', 'behind']],
  'express 4': parsersOf('json', 'urlencoded', 'raw'),
  'express 5': parsersOf('json', 'urlencoded', 'raw'),
  koa: [
    ['json', 'before'],
    ['json', 'behind'],
    ['urlencoded', 'before'],
    ['urlencoded', 'behind'],
    ['stream', 'behind'],
  ],
  fastify: [
    ['json', 'before'],
    ['urlencoded', 'before'],
    ['stream', 'behind'],
  ],
  'fastify http2': [
    ['json', 'before'],
    ['stream', 'behind'],
  ],
  hono: [
    ['json', 'before'],
    ['json', 'behind'],
    ['urlencoded', 'behind'],
    ['raw', 'before'],
    ['raw', 'behind'],
    ['multipart', 'behind'],
    ['stream', 'behind'],
  ],
  'nest express': [
    ['json', 'before'],
    ['urlencoded', 'before'],
    ['multipart', 'behind'],
    ['stream', 'behind'],
  ],
  'nest fastify': [
    ['json', 'before'],
    ['stream', 'behind'],
  ],
}

function parsersOf(...names: readonly ParserName[]): (readonly [ParserName, Place])[] {
  const both = names.flatMap((name): (readonly [ParserName, Place])[] => [
    [name, 'before'],
    [name, 'behind'],
  ])
  return [...both, ['multipart', 'behind'], ['stream', 'behind']]
}

const APPS: readonly AppName[] = [
  ...(['express 5', 'express 4', 'koa', 'hono', 'fastify', 'node'] as const),
  ...(['node http2', 'fastify http2', 'nest express', 'nest fastify'] as const),
]

/** Whether an app speaks HTTP/2. */
export function isHttp2(app: AppName): boolean {
  return app.endsWith('http2')
}

/** Bytes after which a part of a request or an answer begins or ends. */
export interface Boundaries {
  readonly head: number
  readonly total: number
}

/**
 * The plan of a seed.
 *
 * @param boundariesOf - where the request of a plan has its boundaries
 */
export function planOf(seed: number, boundariesOf: (plan: Plan) => Boundaries): Plan {
  const chance = new Chance(seed)
  const app = chance.pick(APPS[0] ?? 'node', ...APPS.slice(1))
  const [first = ['stream', 'behind'], ...others] = PARSERS[app]
  const [parser, place] = chance.pick(first, ...others)
  const answer = chance.pick('small', 'large', 'streamed')
  const moment = momentOf(chance, answer)
  const draft: Plan = {
    ...{ app, parser, place, answer, moment, byte: 0 },
    reading: chance.pick('iteration', 'events', 'web stream', 'pipeline'),
    noteLength: chance.pick(1, 20, 20, 300, 20_000, 150_000),
    isChunked: chance.happens(0.2),
    departure: moment === 'slow' ? 'stays' : departureOf(chance, app, moment),
    isReused: chance.happens(0.25),
    retries: chance.pick('at once', 'later'),
  }
  return { ...draft, byte: byteOf(chance, draft, boundariesOf(draft)) }
}

function departureOf(chance: Chance, app: AppName, moment: Moment): Departure {
  const departure = chance.pick('half-close', 'close', 'reset')
  // A client of Node that cancels a stream ends its body first, so the server gets a whole request.
  return departure === 'half-close' && moment === 'sending' && isHttp2(app) ? 'close' : departure
}

function momentOf(chance: Chance, answer: AnswerShape): Moment {
  const [first, ...rest]: [Moment, ...Moment[]] = [
    ...(['sending', 'sending', 'sending', 'slow', 'front', 'claim', 'claim'] as const),
    ...(['claimed', 'handler', 'handler', 'finish', 'answer'] as const),
    ...(answer === 'streamed' ? (['part', 'part'] as const) : []),
  ]
  return chance.pick(first, ...rest)
}

/** Answers have about this many bytes. */
const ANSWER_BYTES: Readonly<Record<AnswerShape, number>> = {
  ...{ small: 400, large: 300_400, streamed: 1000 },
}

function byteOf(chance: Chance, plan: Plan, { head, total }: Boundaries): number {
  const anywhere = (most: number) => Math.floor(chance.fraction() * (most + 1))
  if (plan.moment === 'answer') return chance.pick(1, 200, anywhere(ANSWER_BYTES[plan.answer]))
  const edges = [0, 1, head - 1, head, head + 1, total - 1, total]
  const at = chance.happens(0.4) ? chance.pick(total, ...edges) : anywhere(total)
  return Math.max(0, Math.min(at, total))
}

/** Moments by how much it takes to reach them; only those with a rank take another's place. */
const SIMPLE_MOMENTS: readonly Moment[] = ['handler', 'claim']

/**
 * Plans that ask for less than a plan that fails. Each step goes down, in what it changes, so whoever
 * takes one after the other comes to an end.
 */
export function smallerPlans(plan: Plan): readonly Plan[] {
  const { byte, noteLength, moment } = plan
  const rank = SIMPLE_MOMENTS.indexOf(moment)
  const moments = rank < 0 ? SIMPLE_MOMENTS : SIMPLE_MOMENTS.slice(0, rank)
  const changes: readonly Partial<Plan>[] = [
    ...[{ isReused: false }, { isChunked: false }, { answer: 'small' as const }],
    ...[1, 20, 300]
      .filter((length) => length < noteLength)
      .map((length) => ({ noteLength: length })),
    ...[
      { retries: 'later' as const },
      { reading: 'iteration' as const },
      { parser: 'json' as const },
    ],
    ...moments.map((simple) => ({ moment: simple })),
    { departure: 'close' },
    ...[0, Math.floor(byte / 2), byte - 1]
      .filter((at) => at >= 0 && at < byte)
      .map((at) => ({ byte: at })),
  ]
  return changes.map((change) => ({ ...plan, ...change })).filter((one) => isPossible(one, plan))
}

function isPossible(plan: Plan, from: Plan): boolean {
  if (JSON.stringify(plan) === JSON.stringify(from)) return false
  if (plan.moment === 'part' && plan.answer !== 'streamed') return false
  // A client that is merely slow is no smaller case of one that leaves.
  if (from.moment === 'slow' && (plan.moment !== 'slow' || plan.departure !== 'stays')) return false
  return PARSERS[plan.app].some(([parser, place]) => parser === plan.parser && place === plan.place)
}

/** A plan in one line. */
export function described(plan: Plan): string {
  const { app, parser, place, reading, noteLength, isChunked, answer, moment } = plan
  const { departure, byte, isReused, retries } = plan
  const reader = parser === 'stream' ? `stream by ${reading}` : `${parser} ${place}`
  const framing = isChunked ? ' in chunks' : ''
  const where = ['sending', 'slow', 'answer'].includes(moment) ? ` at byte ${byte}` : ''
  return [
    ...[app, reader, `note of ${noteLength}${framing}`, `${answer} answer`],
    ...[`${departure} (${moment}${where})`, `retries ${retries}`],
    ...(isReused ? ['on a used connection'] : []),
  ].join(', ')
}
