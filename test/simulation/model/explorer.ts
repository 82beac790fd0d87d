/**
 * A process that explores the configurations it is given, one after the other.
 *
 * @module
 */

import { type Explored, explore, type Progress } from './explore.ts'
import type { ModelConfig } from './model.ts'

/** What an explorer says: how far it is, and at last what it came to. */
export type Said =
  | ({ readonly kind: 'progress' } & Progress)
  | ({
      readonly kind: 'explored'
      readonly seconds: number
      readonly cpuSeconds: number
    } & Explored)

const say = (said: Said) => process.send?.(said)

process.on('message', (config: ModelConfig) => {
  const [began, used] = [performance.now(), process.cpuUsage()]
  const onProgress = (progress: Progress) => say({ kind: 'progress', ...progress })
  void explore(config, { onProgress }).then((explored) => {
    const { user, system } = process.cpuUsage(used)
    const [seconds, cpuSeconds] = [(performance.now() - began) / 1000, (user + system) / 1e6]
    say({ kind: 'explored', seconds, cpuSeconds, ...explored })
  })
})
