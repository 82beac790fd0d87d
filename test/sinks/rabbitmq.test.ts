import { randomUUID } from 'node:crypto'
import { connect } from 'amqplib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rabbitmqSink } from '../../src/sinks/rabbitmq.ts'
import { rabbitmqUrl } from '../support/brokers.ts'
import { openDoor } from '../support/door.ts'
import { freshNode, jobRows } from '../workers/world.ts'
import { type Arrived, describeSink, enqueuerOf } from './contract.ts'

const url = await rabbitmqUrl()

/** A queue of the test's own, and what arrives there. */
async function queue() {
  const name = `reprise.${randomUUID()}`
  const connection = await connect(url ?? '')
  const channel = await connection.createChannel()
  await channel.assertQueue(name, { durable: true })
  onTestFinished(async () => {
    await channel.deleteQueue(name)
    await connection.close()
  })
  const arrived: Arrived[] = []
  await channel.consume(
    name,
    (message) => {
      if (message === null) return
      const { messageId, type, contentType, deliveryMode } = message.properties
      expect({ contentType, deliveryMode }).toEqual({
        ...{ contentType: 'application/json', deliveryMode: 2 },
      })
      arrived.push({ id: messageId, name: type, args: JSON.parse(message.content.toString()) })
    },
    { noAck: true },
  )
  return { name, arrived: async () => arrived }
}

async function open() {
  const { name: good, arrived } = await queue()
  const door = await openDoor(url ?? '')
  const sink = rabbitmqSink(() => connect(door.url))
  onTestFinished(() => sink.close())
  const bad = `${good}.nobody`
  return { sink, arrived, good, bad, complaint: /No queue takes .*nobody/, door }
}

describeSink({ name: 'rabbitmq', skip: url === undefined, open, twice: 2 })

describe.skipIf(url === undefined)('the sink rabbitmq, by exchange', () => {
  it('leaves nothing behind of the deliveries that a closed channel takes', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))
    const world = await freshNode()
    const sink = rabbitmqSink(() => connect(url ?? ''), {
      route: ({ name }) => ({ exchange: 'no.such.exchange', routingKey: name }),
    })
    onTestFinished(() => sink.close())
    await world.stageAll(async (stage) => {
      for (let n = 0; n < 15; n++) await stage('job', { n })
    })
    expect(await enqueuerOf(world, sink).runOnce()).toBe(0)
    expect(await jobRows(world)).toHaveLength(15)
    // Warnings are told in the turn after.
    await new Promise((resolve) => void setImmediate(resolve))
    expect(warnings.map(({ name }) => name)).toEqual([])
  })

  it('finds the one message for which the broker closes the channel', async () => {
    const world = await freshNode()
    const { name, arrived } = await queue()
    const sink = rabbitmqSink(() => connect(url ?? ''), {
      route: ({ args }) => ({
        exchange: (args as { exchange?: string }).exchange ?? '',
        routingKey: name,
      }),
    })
    onTestFinished(() => sink.close())
    await world.stageAll(async (stage) => {
      await stage('job', { n: 1 })
      await stage('job', { n: 2, exchange: 'no.such.exchange' })
      await stage('job', { n: 3 })
    })
    const worker = enqueuerOf(world, sink)
    expect(await worker.runOnce()).toBe(2)
    const rows = await jobRows(world)
    expect(rows).toMatchObject([{ last_error: expect.stringContaining('NOT_FOUND') }])
    expect(rows[0]?.attempts).toBeGreaterThan(0)
    const numbers = new Set((await arrived()).map(({ args }) => (args as { n: number }).n))
    expect([...numbers].sort((a, b) => a - b)).toEqual([1, 3])

    await world.stageAll((stage) => stage('job', { n: 4 }))
    expect(await worker.runOnce()).toBe(1)
  })
})
