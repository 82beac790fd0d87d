import { spawnSync } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from 'redis'
import { expect } from 'vitest'
import { freePort, startGuarded } from '../../scripts/servers/guarded.ts'
import { notRun } from '../support/not-run.ts'

/** A Redis server of a test's own. */
export interface OwnServer {
  readonly port: number
  readonly url: string
  /** Sends one command over a connection of its own. */
  send(...command: readonly string[]): Promise<unknown>
  stop(): Promise<void>
}

/** Whether no Redis is installed here; the calling test file then goes on the list. */
export function isRedisMissing(): boolean {
  if (spawnSync('redis-server', ['--version']).status === 0) return false
  const suite = basename(expect.getState().testPath ?? 'Redis')
  return notRun({ suite, reason: 'redis-server is not installed' })
}

/** Starts a server with these settings, on a free port unless they name one. */
export async function startServer(
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnServer> {
  const port = Number(settings['port'] ?? (await freePort()))
  const directory = await mkdtemp(join(tmpdir(), 'reprise-redis-'))
  const all = { save: '', bind: '127.0.0.1', ...settings, port: `${port}` }
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])
  const url = `redis://127.0.0.1:${port}`
  const send = (...command: readonly string[]) => sendTo(url, command)
  const stop = await startGuarded({
    commands: [['redis-server', ...args]],
    directory,
    user: {},
    stopSignal: 'SIGTERM',
    probe: () => send('ping'),
  })
  return { port, url, send, stop }
}

/** Starts a cluster of three, each with a third of the hash slots. */
export async function startCluster(): Promise<{
  readonly servers: readonly OwnServer[]
  stop(): Promise<void>
}> {
  const busPorts = [await freePort(), await freePort(), await freePort()]
  const servers = await Promise.all(
    busPorts.map((busPort) =>
      startServer({ 'cluster-enabled': 'yes', 'cluster-port': `${busPort}` }),
    ),
  )
  const bounds = [0, 5461, 10923, 16384]
  for (const [index, server] of servers.entries()) {
    const [from, until] = [bounds[index] ?? 0, bounds[index + 1] ?? 0]
    await server.send('cluster', 'addslotsrange', `${from}`, `${until - 1}`)
    await servers[0]?.send('cluster', 'meet', '127.0.0.1', `${server.port}`, `${busPorts[index]}`)
  }
  for (const server of servers) await clusterIsUp(server)
  return {
    servers,
    stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  }
}

/** Redis has no signal for it: asked again until every node knows all three. */
async function clusterIsUp(server: OwnServer): Promise<void> {
  for (;;) {
    const info = String(await server.send('cluster', 'info'))
    if (info.includes('cluster_state:ok') && info.includes('cluster_size:3')) return
    await delay(20)
  }
}

async function sendTo(url: string, command: readonly string[]): Promise<unknown> {
  const client = createClient({ url, socket: { reconnectStrategy: false } })
  // The error reaches us through the promises; without a listener it would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.sendCommand(command)
  } finally {
    client.destroy()
  }
}
