/**
 * Memory of servers under load, over minutes: a line through what is taken after the first third.
 *
 * @module
 */

import { startServer } from './child.ts'
import { freshKey, keyRing, send } from './load.ts'
import { tableOf } from './markdown.ts'
import type { Usage } from './servers/main.ts'
import type { Settings } from './settings.ts'
import type { World } from './world.ts'

/** What one server took. */
export interface MemoryUse {
  readonly variant: string
  readonly minutes: number
  readonly requests: number
  readonly failures: number
  /** Megabytes a minute, from the first third on: of the process, and of what its heap holds. */
  readonly rssSlope: number
  readonly heapSlope: number
  readonly samples: readonly Sample[]
}

/** At one moment. */
export interface Sample {
  readonly minute: number
  readonly rssMb: number
  /** What is left on the heap after a collection. */
  readonly heapMb: number
}

const VARIANTS = ['express/transaction', 'express/lease-redis']
const SAMPLES = 60

/** Until then caches and pools fill, and the heap finds its size. */
const WARM_SHARE = 1 / 3

/** One request in four is fresh; the others are replays, more than the cache holds. */
const FRESH_SHARE = 4
const RING = 50_000

/** Watches one server after the other. */
export async function memoryUse(
  world: World,
  { minutes }: Settings,
  progress: (text: string) => void,
): Promise<MemoryUse[]> {
  const found: MemoryUse[] = []
  for (const variant of VARIANTS) {
    if (variant.includes('redis') && world.redisUrl === undefined) continue
    const server = await startServer(world.task(variant), ['--expose-gc'])
    try {
      const replayed = keyRing(RING)
      let turn = 0
      const nextKey = () => (turn++ % FRESH_SHARE === 0 ? freshKey() : replayed())
      const load = { port: server.port, connections: 16, nextKey }
      const samples: Sample[] = []
      let [requests, failures] = [0, 0]
      for (let sample = 1; sample <= SAMPLES; sample++) {
        const result = await send({ ...load, ms: (minutes * 60_000) / SAMPLES })
        requests += result.requests
        failures += result.failures
        const minute = (sample * minutes) / SAMPLES
        samples.push(sampleOf(minute, await server.usage()))
        const { rssMb = 0, heapMb = 0 } = samples.at(-1) ?? {}
        progress(
          `${variant} minute ${minute.toFixed(1)}/${minutes}: ${rssMb.toFixed(1)} MB, heap ${heapMb.toFixed(1)} MB`,
        )
      }
      found.push({ variant, minutes, requests, failures, ...slopes(samples), samples })
    } finally {
      await server.stop()
    }
  }
  return found
}

function sampleOf(minute: number, { rssBytes, heapBytes }: Usage): Sample {
  return { minute, rssMb: rssBytes / 1e6, heapMb: heapBytes / 1e6 }
}

function slopes(samples: readonly Sample[]): Pick<MemoryUse, 'rssSlope' | 'heapSlope'> {
  const late = samples.slice(Math.floor(samples.length * WARM_SHARE))
  return {
    rssSlope: slopeOf(late.map(({ minute, rssMb }) => [minute, rssMb])),
    heapSlope: slopeOf(late.map(({ minute, heapMb }) => [minute, heapMb])),
  }
}

/** Of the line with the least squares. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
  const x = mean(points.map(([value]) => value))
  const y = mean(points.map(([, value]) => value))
  const over = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  return over / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
}

/** As a table. */
export function memoryTable(uses: readonly MemoryUse[]): string {
  const rows = uses.map(
    ({ variant, minutes, requests, failures, rssSlope, heapSlope, samples }) => {
      const late = samples.slice(Math.floor(samples.length * WARM_SHARE))
      const range = (values: readonly number[]) =>
        `${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)}`
      return [
        ...[variant, String(minutes), String(requests), String(failures)],
        ...[range(late.map(({ rssMb }) => rssMb)), rssSlope.toFixed(3)],
        ...[range(late.map(({ heapMb }) => heapMb)), heapSlope.toFixed(3)],
      ]
    },
  )
  const head = [
    ...['variant', 'minutes', 'requests', 'failed', 'RSS MB', 'MB/min'],
    ...['heap MB after GC', 'MB/min'],
  ]
  return tableOf(head, rows)
}
