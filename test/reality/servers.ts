/** Servers of our own that can be restarted the hard way, and a wire to them that can be cut. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../scripts/servers/guarded.ts'
import { query } from '../../scripts/servers/postgres.ts'
import {
  installedPrograms,
  npmPrograms,
  unprivileged,
} from '../../scripts/servers/postgres-programs.ts'

/** A server that can be restarted. */
export interface OwnServer {
  readonly port: number
  /** Ends it at once, as a crash does, and starts it on the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const UP_LOOKS_MAX = 1200
const UP_LOOK_MS = 50

/** Starts a program again and again; it goes with us, however we end. */
class Restartable {
  readonly #start: () => ChildProcess
  readonly #signal: NodeJS.Signals
  readonly #probe: () => Promise<unknown>
  #child: ChildProcess | undefined

  constructor(start: () => ChildProcess, signal: NodeJS.Signals, probe: () => Promise<unknown>) {
    this.#start = start
    this.#signal = signal
    this.#probe = probe
    process.once('exit', () => void this.#child?.kill(signal))
  }

  async start(): Promise<void> {
    this.#child = this.#start()
    for (let look = 0; look < UP_LOOKS_MAX; look++) {
      if (
        await this.#probe().then(
          () => true,
          () => false,
        )
      )
        return
      await delay(UP_LOOK_MS)
    }
    throw new Error('A server did not come up.')
  }

  async stop(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined) return
    const gone = once(child, 'exit')
    child.kill(this.#signal)
    await gone
  }
}

/** A PostgreSQL of our own; a restart is an immediate shutdown, so the log is replayed. */
export async function startOwnPostgres(): Promise<OwnServer & { readonly url: string }> {
  const user = unprivileged()
  const folder = await mkdtemp(join(tmpdir(), 'reprise-reality-'))
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid)
  const programs = (await installedPrograms()) ?? (await npmPrograms(folder))
  const [port, data] = [await freePort(), join(folder, 'data')]
  const flags = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale', '-N']
  await promisify(execFile)(join(programs, 'initdb'), ['-D', data, ...flags], {
    ...user,
    cwd: folder,
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`]
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  const start = () =>
    spawn(join(programs, 'postgres'), args, { ...user, cwd: folder, stdio: 'ignore' })
  const server = new Restartable(start, 'SIGQUIT', () => query(url, 'select 1'))
  await server.start()
  return { ...{ port, url }, ...lifeOf(server, folder) }
}

/** A Redis of our own that writes everything down before it answers; a restart is a kill. */
export async function startOwnRedis(): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-reality-'))
  const port = await freePort()
  const settings = {
    port,
    bind: '127.0.0.1',
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    dir: folder,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const start = () => spawn('redis-server', args, { stdio: 'ignore' })
  const server = new Restartable(start, 'SIGKILL', () => ping(port))
  await server.start()
  return { port, ...lifeOf(server, folder) }
}

function lifeOf(server: Restartable, folder: string): Pick<OwnServer, 'restart' | 'stop'> {
  return {
    async restart() {
      await server.stop()
      await server.start()
    },
    async stop() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Whether Redis answers; while it loads its data it says something else. */
async function ping(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write('PING\r\n')
    const [answer] = await once(socket, 'data')
    if (!String(answer).startsWith('+PONG')) throw new Error('Redis is not ready.')
  } finally {
    socket.destroy()
  }
}

/** A wire to a server on this machine. */
export interface Wire {
  readonly port: number
  /** Breaks everything that is open. */
  cut(): void
  close(): void
}

/** Lays a wire. */
export async function layWire(target: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const ends = [client, connect(target, '127.0.0.1')] as const
    client.pipe(ends[1]).pipe(client)
    for (const socket of ends) {
      sockets.add(socket.setNoDelay(true))
      // What breaks here is broken on purpose.
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const end of ends) end.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The wire has no port.')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    ...{ port: address.port, cut },
    close() {
      server.close()
      cut()
    },
  }
}
