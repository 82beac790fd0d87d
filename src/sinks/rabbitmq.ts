/**
 * Jobs to RabbitMQ: at least once, each confirmed by the broker, with our id as the message id.
 *
 * @module
 */

import type { Sink, StagedJob, Undelivered } from '../workers/sink.ts'
import { sendAll } from './sending.ts'
import { refused } from './trouble.ts'

/** What the sink tells the broker about a message. */
export interface RabbitmqProperties {
  messageId: string
  type: string
  contentType: string
  timestamp: number
  persistent: boolean
  mandatory: boolean
}

/** What the sink uses of a `ConfirmChannel` of amqplib. */
export interface RabbitmqChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: Buffer,
    properties: RabbitmqProperties,
    confirm: (error: Error | null) => void,
  ): boolean
  on(event: 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'return', listener: (message: RabbitmqReturned) => void): unknown
}

/** A message that no queue took. */
export interface RabbitmqReturned {
  readonly properties: { readonly messageId?: unknown }
}

/** What the sink uses of a connection of amqplib. */
export interface RabbitmqConnection {
  createConfirmChannel(): Promise<RabbitmqChannel>
  close(): Promise<void>
  on(event: 'close' | 'error', listener: (error: Error) => void): unknown
}

/** Where a message goes. */
export interface RabbitmqRoute {
  readonly exchange: string
  readonly routingKey: string
}

/** Settings of {@link rabbitmqSink}. */
export interface RabbitmqSinkOptions {
  /**
   * The exchange and routing key of a job. When no queue takes it, it is not delivered.
   *
   * @default the default exchange and the name of the job: the queue of that name
   */
  readonly route?: (job: StagedJob) => RabbitmqRoute
}

/** The sink, which has a connection of its own. */
export interface RabbitmqSink extends Sink {
  /** Ends the connection; delivering again opens another. */
  close(): Promise<void>
}

/**
 * Hands jobs to RabbitMQ through amqplib. Arguments are sent as JSON, persistent and mandatory, with
 * the name of the job as `type`.
 *
 * @param connect - opens a connection; called again when that one is lost
 *
 * @example
 * ```ts
 * const sink = rabbitmqSink(() => amqplib.connect('amqp://localhost'))
 * ```
 */
export function rabbitmqSink(
  connect: () => Promise<RabbitmqConnection>,
  { route = ({ name }) => ({ exchange: '', routingKey: name }) }: RabbitmqSinkOptions = {},
): RabbitmqSink {
  const broker = new Broker(connect)
  const deliver: Sink['deliver'] = async (jobs, delivery) => {
    const line = await broker.line()
    const send = (job: StagedJob) => line.send(job, route(job))
    const given = await sendAll(jobs, delivery, { send, isDown: () => line.isClosed })
    const undelivered = given ?? []
    const lost = undelivered.filter(({ isSinkDown }) => isSinkDown === true)
    if (line.fault === undefined || lost.length === 0) return undelivered

    // The broker closed the channel over one message, and the others on their way went with it.
    const [only, another] = jobs
    if (only !== undefined && another === undefined) return [refused(only, line.fault)]
    const again: Undelivered[] = undelivered.filter((one) => !lost.includes(one))
    for (const job of jobs.filter(({ id }) => lost.some((one) => one.id === id))) {
      again.push(...((await deliver([job], delivery)) ?? []))
    }
    return again
  }
  return { name: 'rabbitmq', deliver, close: () => broker.close() }
}

/** The way to the broker, opened when it is needed. */
class Broker {
  readonly #connect: () => Promise<RabbitmqConnection>
  #connection: Promise<RabbitmqConnection> | undefined
  #line: Promise<Line> | undefined

  constructor(connect: () => Promise<RabbitmqConnection>) {
    this.#connect = connect
  }

  /** A channel that is open as far as is known. */
  async line(): Promise<Line> {
    this.#connection ??= this.#open()
    const connection = await this.#connection
    this.#line ??= connection.createConfirmChannel().then((channel) => {
      return new Line(channel, () => {
        this.#line = undefined
      })
    })
    try {
      return await this.#line
    } catch (error) {
      this.#forget()
      throw error
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection
    this.#forget()
    // One that is broken is closed already.
    await connection?.then((open) => open.close()).catch(() => {})
  }

  #open(): Promise<RabbitmqConnection> {
    const opening = this.#connect()
    const forget = () => {
      if (this.#connection === opening) this.#forget()
    }
    opening.then((connection) => {
      connection.on('close', forget)
      connection.on('error', forget)
    }, forget)
    return opening
  }

  #forget(): void {
    this.#connection = undefined
    this.#line = undefined
  }
}

/** A channel, and what became of it. */
class Line {
  readonly #channel: RabbitmqChannel
  readonly #returned = new Set<unknown>()
  isClosed = false
  /** Why the broker closed it, if it did. */
  fault: Error | undefined

  constructor(channel: RabbitmqChannel, onClose: () => void) {
    this.#channel = channel
    channel.on('error', (error) => {
      this.fault = error
    })
    channel.on('close', () => {
      this.isClosed = true
      onClose()
    })
    // A message comes back before it is confirmed.
    channel.on('return', ({ properties }) => this.#returned.add(properties.messageId))
  }

  /** Resolves when a queue has the message. */
  send(job: StagedJob, { exchange, routingKey }: RabbitmqRoute): Promise<void> {
    const { id, name, args, stagedAt } = job
    const content = Buffer.from(JSON.stringify(args))
    const properties = {
      ...{ messageId: id, type: name, contentType: 'application/json' },
      ...{ timestamp: Math.floor(stagedAt / 1000), persistent: true, mandatory: true },
    }
    return new Promise((resolve, reject) => {
      this.#channel.publish(exchange, routingKey, content, properties, (error) => {
        const isReturned = this.#returned.delete(id)
        if (error !== null) reject(error)
        else if (!isReturned) resolve()
        else reject(new Error(`No queue takes ${routingKey} from the exchange "${exchange}".`))
      })
    })
  }
}
