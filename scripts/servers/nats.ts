/**
 * A NATS server with JetStream, from the first of these that there is: the one that `NATS_URL` names,
 * one that runs on this machine, one that is installed. No npm package brings one.
 *
 * @module
 */

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { freePort, type Server, startGuarded } from './guarded.ts'
import { installedProgram, type NoServer } from './installed.ts'

const RUNNING = 'nats://127.0.0.1:4222'

/**
 * Finds or starts a server.
 *
 * @param env - `NATS_URL` names a server to use. `REPRISE_NATS` names which other sources to try, in
 *   order: `running,installed` unless set; `none` for none.
 */
export async function startNats(env: NodeJS.ProcessEnv = process.env): Promise<Server | NoServer> {
  const { NATS_URL: url, REPRISE_NATS: order = 'running,installed', PATH = '' } = env
  if (url) return { url, origin: 'named by NATS_URL', stop: async () => {} }

  const sources = order.split(',')
  if (sources.includes('running') && (await answers(RUNNING))) {
    return { url: RUNNING, origin: 'running on 127.0.0.1:4222', stop: async () => {} }
  }
  const isAllowed = sources.includes('installed')
  const program = isAllowed ? await installedProgram(PATH, ['nats-server']) : undefined
  if (program !== undefined) return ownServer(program)
  return { missing: `no NATS server was found (tried: NATS_URL, ${sources.join(', ')})` }
}

/** Whether a server answers and has JetStream. */
async function answers(url: string): Promise<boolean> {
  return probe(url).then(
    () => true,
    () => false,
  )
}

async function probe(url: string): Promise<void> {
  const connection = await connect({ servers: url, reconnect: false, timeout: 2_000 })
  try {
    await (await jetstreamManager(connection)).getAccountInfo()
  } finally {
    await connection.close()
  }
}

async function ownServer(program: string): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'reprise-nats-'))
  const port = await freePort()
  const url = `nats://127.0.0.1:${port}`
  const stop = await startGuarded({
    commands: [[program, '-a', '127.0.0.1', '-p', `${port}`, '-js', '-sd', directory]],
    directory,
    user: {},
    stopSignal: 'SIGTERM',
    probe: () => probe(url),
  })
  return { url, origin: 'installed', stop }
}
