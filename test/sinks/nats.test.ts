import { randomUUID } from 'node:crypto'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { natsSink } from '../../src/sinks/nats.ts'
import { natsUrl } from '../support/brokers.ts'
import { openDoor } from '../support/door.ts'
import { freshNode, jobRows } from '../workers/world.ts'
import { type Arrived, describeSink, enqueuerOf } from './contract.ts'

const url = await natsUrl()

/** A stream of the test's own, and what it holds. */
async function stream() {
  const name = `reprise_${randomUUID()}`
  const connection = await connect({ servers: url ?? '' })
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name, subjects: [`${name}.>`] })
  onTestFinished(async () => {
    await manager.streams.delete(name)
    await connection.close()
  })
  const arrived = async () => {
    const { state } = await manager.streams.info(name)
    const all: Arrived[] = []
    for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
      const message = await manager.streams.getMessage(name, { seq })
      if (message === null) continue
      const id = message.header.get('Nats-Msg-Id')
      all.push({ id, name: message.subject, args: message.json() })
    }
    return all
  }
  return { name, arrived, connection }
}

async function open() {
  const { name, arrived } = await stream()
  const door = await openDoor(url ?? '')
  const connection = await connect({
    ...{ servers: door.url, maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 0 },
  })
  onTestFinished(() => connection.close())
  const sink = natsSink(jetstream(connection), { timeoutMs: 1000 })
  const bad = `reprise_nobody_${randomUUID()}`
  return {
    sink,
    arrived,
    good: `${name}.job`,
    bad,
    complaint: /No stream listens to reprise_nobody/,
    door,
  }
}

describeSink({ name: 'nats', skip: url === undefined, open, twice: 1 })

describe.skipIf(url === undefined)('the sink nats', () => {
  it.each([
    ['a subject with a space', { subject: () => 'two words' }],
    ['another stream', { stream: 'another' }],
    ['more than the server takes', { payload: () => new Uint8Array(2_000_000) }],
  ])('does not deliver to %s', async (_, options) => {
    const world = await freshNode()
    const { name, arrived, connection } = await stream()
    const subject = () => `${name}.job`
    const worker = enqueuerOf(world, natsSink(jetstream(connection), { subject, ...options }))
    await world.stageAll((stage) => stage('job', { n: 1 }))
    expect(await worker.runOnce()).toBe(0)
    expect((await jobRows(world))[0]?.attempts).toBeGreaterThan(0)
    expect(await arrived()).toEqual([])
  })

  it('does not take for an acknowledgement what some subscriber answers', async () => {
    const world = await freshNode()
    const { connection } = await stream()
    const subject = `reprise_service_${randomUUID()}`
    connection.subscribe(subject, { callback: (_, message) => void message.respond('{}') })
    await connection.flush()
    const worker = enqueuerOf(world, natsSink(jetstream(connection)))
    await world.stageAll((stage) => stage(subject, { n: 1 }))
    expect(await worker.runOnce()).toBe(0)
    expect(await jobRows(world)).toMatchObject([
      { last_error: expect.stringContaining('stored nothing') },
    ])
  })
})
