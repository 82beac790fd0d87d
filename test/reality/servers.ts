/** Servers of our own that can be restarted the hard way, crowded, and given no room. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '../../scripts/servers/guarded.ts'
import { query } from '../../scripts/servers/postgres.ts'
import {
  installedPrograms,
  npmPrograms,
  unprivileged,
} from '../../scripts/servers/postgres-programs.ts'
import { type Disk, layDisk } from './disk.ts'

/** A server that can be restarted. */
export interface OwnServer {
  readonly port: number
  /** Ends it at once, as a crash does, and starts it on the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
  /** Takes every connection that is to be had, for so many milliseconds. */
  crowd(ms: number): Promise<void>
  /** Leaves no room on its disk for so many milliseconds. */
  fill(ms: number): Promise<void>
}

const UP_LOOKS_MAX = 1200
const UP_LOOK_MS = 50
/** How many connections a server takes: more than three nodes need. */
const CONNECTIONS = 40

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
    await this.#isUp()
  }

  async #isUp(): Promise<void> {
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

  /** Starts it where it has ended by itself, and waits until it can be used. */
  async revive(): Promise<void> {
    const child = this.#child
    // What it ends with, it ends with soon.
    await delay(500)
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      return this.#isUp()
    }
    await this.start()
  }

  async stop(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined) return
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(this.#signal)
    await gone
  }
}

/**
 * A PostgreSQL of our own; a restart is an immediate shutdown, so the log is replayed.
 *
 * @param isSmall - whether its disk can be filled
 */
export async function startOwnPostgres(
  isSmall = false,
): Promise<OwnServer & { readonly url: string }> {
  const user = unprivileged()
  const disk = await layDisk(isSmall)
  const { folder } = disk
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid)
  const programs = (await installedPrograms()) ?? (await npmPrograms(folder))
  const [port, data] = [await freePort(), join(folder, 'data')]
  const flags = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale', '-N']
  await promisify(execFile)(join(programs, 'initdb'), ['-D', data, ...flags], {
    ...user,
    cwd: folder,
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = [
    ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`],
    ...[`max_connections=${CONNECTIONS}`, 'min_wal_size=32MB', 'max_wal_size=64MB'],
  ]
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
  const start = () =>
    spawn(join(programs, 'postgres'), args, { ...user, cwd: folder, stdio: 'ignore' })
  const server = new Restartable(start, 'SIGQUIT', () => query(url, 'select 1'))
  await server.start()
  const take = async () => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    return () => void client.end().catch(() => {})
  }
  return { ...{ port, url }, ...lifeOf(server, disk, take) }
}

/**
 * A Redis of our own that writes everything down before it answers; a restart is a kill.
 *
 * @param isSmall - whether its disk can be filled
 */
export async function startOwnRedis(isSmall = false): Promise<OwnServer> {
  const disk = await layDisk(isSmall)
  const port = await freePort()
  const settings = {
    port,
    bind: '127.0.0.1',
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    maxclients: CONNECTIONS,
    dir: disk.folder,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const start = () => spawn('redis-server', args, { stdio: 'ignore' })
  const server = new Restartable(start, 'SIGKILL', () => ping(port))
  await server.start()
  const take = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    return () => void socket.destroy()
  }
  return { port, ...lifeOf(server, disk, take) }
}

type Life = Pick<OwnServer, 'restart' | 'stop' | 'crowd' | 'fill'>

/** @param take - takes a connection, and gives what lets it go */
function lifeOf(server: Restartable, disk: Disk, take: () => Promise<() => void>): Life {
  return {
    async restart() {
      await server.stop()
      await server.start()
    },
    async stop() {
      await server.stop()
      await disk.remove()
    },
    async crowd(ms) {
      const taken: (() => void)[] = []
      const until = performance.now() + ms
      while (performance.now() < until) {
        const one = await take().catch(() => delay(5))
        if (one !== undefined) taken.push(one)
        if (taken.length > 2 * CONNECTIONS) taken.shift()?.()
      }
      for (const letGo of taken) letGo()
    },
    async fill(ms) {
      await disk.fill()
      await delay(ms)
      await disk.free()
      // A store that could not write its log may have ended itself; its operator starts it again.
      await server.revive()
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
