import { basename } from 'node:path'
import { afterAll, expect } from 'vitest'
import type { Server } from '../../scripts/servers/guarded.ts'
import type { NoServer } from '../../scripts/servers/installed.ts'
import { startNats } from '../../scripts/servers/nats.ts'
import { startRabbitmq } from '../../scripts/servers/rabbitmq.ts'
import { notRun } from './not-run.ts'

/** A RabbitMQ server for the test file; `undefined`, on the list of what did not run, without one. */
export function rabbitmqUrl(): Promise<string | undefined> {
  return urlOf(startRabbitmq())
}

/** A NATS server with JetStream for the test file; `undefined`, on the list, without one. */
export function natsUrl(): Promise<string | undefined> {
  return urlOf(startNats())
}

/** Only the files that need a broker start one: it takes longer than most tests. */
async function urlOf(starting: Promise<Server | NoServer>): Promise<string | undefined> {
  const server = await starting
  if ('url' in server) {
    afterAll(() => server.stop())
    return server.url
  }
  notRun({ suite: basename(expect.getState().testPath ?? 'broker'), reason: server.missing })
  return undefined
}
