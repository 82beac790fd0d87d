/**
 * Jobs to NATS JetStream: at least once, with our id as the message id, of which the stream takes
 * each one once within its window of duplicates.
 *
 * @module
 */

import type { Sink, StagedJob } from '../workers/sink.ts'
import { sendAll } from './sending.ts'

/** What JetStream says when it has stored a message. */
export interface NatsAck {
  readonly stream: string
  readonly seq: number
}

/** What the sink tells JetStream about a message. */
export interface NatsPublishOptions {
  msgID: string
  timeout: number
  expect: { streamName?: string }
}

/** What the sink uses of a `JetStreamClient`. */
export interface NatsJetStream {
  publish(subject: string, payload: Uint8Array, options: NatsPublishOptions): Promise<NatsAck>
}

/** Settings of {@link natsSink}. */
export interface NatsSinkOptions {
  /**
   * The subject of a job. A stream has to listen to it: a job for which none does is not delivered.
   *
   * @default the name of the job
   */
  readonly subject?: (job: StagedJob) => string
  /**
   * The stream that has to take the jobs; one that goes to another is not delivered.
   *
   * @default whichever listens to the subject
   */
  readonly stream?: string
  /**
   * What is sent.
   *
   * @default the arguments as JSON
   */
  readonly payload?: (job: StagedJob) => Uint8Array
  /**
   * How long the stream may take for its answer, in milliseconds.
   *
   * @default 5000
   */
  readonly timeoutMs?: number
}

/** Errors that the message itself is to blame for; whatever else there is speaks of the server. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...['InvalidSubjectError', 'InvalidArgumentError', 'PermissionViolationError'],
  ...['NoRespondersError', 'NotStored'],
])

/** Codes of JetStream: the message is too large, or it is for another stream. */
const REFUSAL_CODES: ReadonlySet<unknown> = new Set([10_054, 10_060])

const CAUSES_MAX = 5

/** The answer came from something that is no stream. */
class NotStored extends Error {
  override readonly name = 'NotStored'
}

/**
 * Hands jobs to JetStream through `@nats-io/jetstream` 3 or later. Consumers find our id in the header
 * `Nats-Msg-Id`.
 *
 * @example
 * ```ts
 * const sink = natsSink(jetstream(connection), { subject: ({ name }) => `jobs.${name}` })
 * ```
 */
export function natsSink(
  jetstream: NatsJetStream,
  {
    subject = ({ name }) => name,
    stream,
    payload = toJson,
    timeoutMs = 5000,
  }: NatsSinkOptions = {},
): Sink {
  const expect = stream === undefined ? {} : { streamName: stream }
  const send = async (job: StagedJob) => {
    const to = subject(job)
    const options = { msgID: job.id, timeout: timeoutMs, expect }
    const ack = await jetstream.publish(to, payload(job), options).catch((cause: unknown) => {
      // This is how the library words it that nobody listens at all.
      if (!(cause instanceof Error) || cause.name !== 'JetStreamNotEnabled') throw cause
      throw new NotStored(`No stream listens to ${to}.`, { cause })
    })
    if (!(ack.seq > 0)) throw new NotStored(`What answered on ${to} has stored nothing.`)
  }
  return {
    name: 'nats',
    deliver: (jobs, delivery) => sendAll(jobs, delivery, { send, isDown }),
  }
}

function toJson({ args }: StagedJob): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(args))
}

function isDown(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
    if (REFUSALS.has(cause.name) || REFUSAL_CODES.has(Reflect.get(cause, 'code'))) return false
    cause = cause.cause
  }
  return true
}
