/**
 * Events on a channel of `node:diagnostics_channel`, for tools that come without the app's help.
 *
 * @module
 */

import { channel } from 'node:diagnostics_channel'
import type { RepriseEvent } from '../engine/events.ts'
import type { WorkerNote } from './tally.ts'

/** Where what the engine tells is published. */
export const EVENT_CHANNEL = 'reprise:event'

/** Where what the workers tell is published. */
export const WORKER_CHANNEL = 'reprise:worker'

/** Publishes events as they are; costs next to nothing while nobody subscribes. */
export function publishEvents(): {
  readonly onEvent: (event: RepriseEvent) => void
  readonly onWorkerEvent: (note: WorkerNote) => void
} {
  const events = channel(EVENT_CHANNEL)
  const notes = channel(WORKER_CHANNEL)
  return {
    onEvent: (event) => events.publish(event),
    onWorkerEvent: (note) => notes.publish(note),
  }
}
