/**
 * A Redis server, from the first of these that there is: the one that `REDIS_URL` names, one that
 * runs on this machine, one that is installed (Redis or Valkey). No npm package brings one.
 *
 * @module
 */

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { freePort, type Server, startGuarded } from './guarded.ts'
import { installedProgram, type NoServer } from './installed.ts'

const RUNNING = 'redis://127.0.0.1:6379'
const PROGRAMS = ['redis-server', 'valkey-server']

/**
 * Finds or starts a server.
 *
 * @param env - `REDIS_URL` names a server to use. `REPRISE_REDIS` names which other sources to try,
 *   in order: `running,installed` unless set; `none` for none.
 */
export async function startRedis(env: NodeJS.ProcessEnv = process.env): Promise<Server | NoServer> {
  const { REDIS_URL: url, REPRISE_REDIS: order = 'running,installed', PATH = '' } = env
  if (url) return { url, origin: 'named by REDIS_URL', stop: async () => {} }

  const sources = order.split(',')
  if (sources.includes('running') && (await answers(RUNNING))) {
    return { url: RUNNING, origin: 'running on 127.0.0.1:6379', stop: async () => {} }
  }
  const program = sources.includes('installed') ? await installedProgram(PATH, PROGRAMS) : undefined
  if (program !== undefined) return ownServer(program)
  return { missing: `no Redis server was found (tried: REDIS_URL, ${sources.join(', ')})` }
}

/** Whether a server answers without asking for a password. */
async function answers(url: string): Promise<boolean> {
  return ping(url).then(
    () => true,
    () => false,
  )
}

async function ping(url: string): Promise<void> {
  const socket = { reconnectStrategy: false, connectTimeout: 2_000 } as const
  const client = createClient({ url, socket })
  // The error reaches us through connect and ping; without a listener it would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.ping()
  } finally {
    client.destroy()
  }
}

async function ownServer(program: string): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'reprise-redis-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const stop = await startGuarded({
    commands: [[program, '--port', `${port}`, '--bind', '127.0.0.1', '--save', '']],
    directory,
    user: {},
    stopSignal: 'SIGTERM',
    probe: () => ping(url),
  })
  return { url, origin: 'installed', stop }
}
