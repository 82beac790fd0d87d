/**
 * Turns of two servers, one after the other: a machine that is busy with something else is so for
 * both, and their ratio stays what it is.
 *
 * @module
 */

import { type ServerChild, startServer } from './child.ts'
import { freshKey, keyRing, type Load, type LoadResult, send } from './load.ts'
import type { ServerTask } from './servers/setups.ts'
import type { Measurement } from './variants.ts'
import type { World } from './world.ts'

/** How long and how often. */
export interface Turns {
  /** Pairs of turns. */
  readonly count: number
  /** Length of a turn. */
  readonly seconds: number
}

/** What one server did over its turns; medians over them. */
export interface Side {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Server CPU of a request, in microseconds. */
  readonly cpuUs: number
}

/** Two servers in turns. */
export interface Contest {
  readonly connections: number
  readonly own: Side
  readonly other: Side
  /** Throughput over that of the other, median over the pairs of turns. */
  readonly ratio: number
  /** The lowest and the highest ratio of a pair. */
  readonly ratios: readonly [number, number]
  /** The median latency over that of the other, median over the pairs. */
  readonly latencyRatio: number
  /** CPU over that of the other, in microseconds per request, median over the pairs. */
  readonly ownCpuUs: number
  readonly requests: number
  /** Answers that were not 201, and the first of them. */
  readonly failures: number
  readonly firstFailure: string | undefined
}

/** A variant beside another. */
export interface Comparison extends Measurement, Contest {}

/** Keys of a ring of replays. */
const RING = 256

/** Requests before the first turn: until then much of the code has not been compiled. */
const WARM_UP = 3000

interface Turn extends Side {
  readonly result: LoadResult
}

/** Who is in a contest, and what is sent to whom. */
export interface Sides {
  readonly own: ServerTask
  readonly other: ServerTask
  readonly ownKey: () => string
  readonly otherKey: () => string
  /** What every request says; that of the load generator unless set. */
  readonly body?: string
  /** Requests to each before the first turn: 3,000 unless set. */
  readonly warmUp?: number
  /** What Node is told when it starts the servers, both of them: nothing unless set. */
  readonly flags?: readonly string[]
}

/** How often, how long and how many at a time. */
export interface Rounds {
  readonly connections: readonly number[]
  readonly turns: Turns
}

/** Measures a variant at each number of connections; `flags` are those of both servers. */
export async function compare(
  world: World,
  measurement: Measurement,
  { flags, ...rounds }: Rounds & Pick<Sides, 'flags'>,
): Promise<Comparison[]> {
  const { variant, beside, workload } = measurement
  const ownKey = workload === 'fresh' ? freshKey : keyRing(RING)
  const tasks = { own: world.task(variant), other: world.task(beside) }
  const sides = { ...tasks, ownKey, otherKey: freshKey }
  const found = await contest(flags === undefined ? sides : { ...sides, flags }, rounds)
  return found.map((one) => ({ ...measurement, ...one }))
}

/** Lets two servers take turns, at each number of connections. */
export async function contest(sides: Sides, { connections, turns }: Rounds): Promise<Contest[]> {
  const { ownKey, otherKey, warmUp: requests = WARM_UP } = sides
  const body = sides.body === undefined ? {} : { body: sides.body }
  const own = await startServer(sides.own, sides.flags)
  const other = await startServer(sides.other, sides.flags)
  try {
    // Every key of a ring is answered once before; and both sides are compiled and connected.
    const before = { connections: 16, requests, ...body }
    await send({ port: own.port, nextKey: ownKey, ...before })
    await send({ port: other.port, nextKey: otherKey, ...before })
    const found: Contest[] = []
    for (const count of connections) {
      const pairs: [Turn, Turn][] = []
      for (let pair = 0; pair < turns.count; pair++) {
        const load = { connections: count, ms: turns.seconds * 1000, ...body }
        const takeOwn = () => turn(own, { ...load, nextKey: ownKey })
        const takeOther = () => turn(other, { ...load, nextKey: otherKey })
        // Who goes first changes, so that neither always finds the machine as the other left it.
        if (pair % 2 === 0) pairs.push([await takeOwn(), await takeOther()])
        else pairs.push(reversed([await takeOther(), await takeOwn()]))
      }
      found.push(summary(count, pairs))
    }
    return found
  } finally {
    await Promise.all([own.stop(), other.stop()])
  }
}

function reversed([a, b]: [Turn, Turn]): [Turn, Turn] {
  return [b, a]
}

async function turn(server: ServerChild, load: Omit<Load, 'port'>): Promise<Turn> {
  const before = await server.usage()
  const result = await send({ port: server.port, requestsMin: 5 * load.connections, ...load })
  const after = await server.usage()
  const sorted = [...result.latencies].sort((a, b) => a - b)
  return {
    result,
    perSecond: result.requests / result.seconds,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    cpuUs: (after.cpuUs - before.cpuUs) / result.requests,
  }
}

function summary(connections: number, pairs: [Turn, Turn][]): Contest {
  const owns = pairs.map(([own]) => own)
  const ratios = pairs.map(([own, other]) => own.perSecond / other.perSecond)
  return {
    connections,
    own: sideOf(owns),
    other: sideOf(pairs.map(([, other]) => other)),
    ratio: median(ratios),
    ratios: [Math.min(...ratios), Math.max(...ratios)],
    latencyRatio: median(pairs.map(([own, other]) => own.p50Ms / other.p50Ms)),
    ownCpuUs: median(pairs.map(([own, other]) => own.cpuUs - other.cpuUs)),
    requests: owns.reduce((sum, { result }) => sum + result.requests, 0),
    failures: owns.reduce((sum, { result }) => sum + result.failures, 0),
    firstFailure: owns.find(({ result }) => result.firstFailure)?.result.firstFailure,
  }
}

function sideOf(turns: readonly Turn[]): Side {
  return {
    perSecond: median(turns.map(({ perSecond }) => perSecond)),
    p50Ms: median(turns.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(turns.map(({ p99Ms }) => p99Ms)),
    cpuUs: median(turns.map(({ cpuUs }) => cpuUs)),
  }
}

/** The middle of some numbers; the mean of the two middle ones where there are two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return (quantile(sorted, 0.5) + (sorted[Math.ceil(sorted.length / 2 - 1)] ?? 0)) / 2
}

/** The value that this share of sorted numbers does not exceed. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
