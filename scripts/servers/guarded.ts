/**
 * Servers of our own: started in a directory of their own under the system's temporary one, and
 * stopped with the process that started them, however that ends.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { type EventEmitter, once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A program and its arguments. */
export type Command = readonly [program: string, ...args: string[]]

/** Whose rights a server runs with; empty for our own. */
export interface RunAs {
  readonly uid?: number
  readonly gid?: number
}

/** What to start. */
export interface ServerSpec {
  /** Run one after the other; the last one is the server. */
  readonly commands: readonly Command[]
  /** Working directory of the commands. Removed after the server has stopped. */
  readonly directory: string
  /**
   * Whether the directory stays when the server has stopped.
   *
   * @default false
   */
  readonly isKept?: boolean
  readonly user: RunAs
  /** What tells the server to stop. */
  readonly stopSignal: NodeJS.Signals
  /** Settles when the server can be used, and fails as long as it can not. */
  readonly probe: () => Promise<unknown>
}

/** A server that can be used, wherever it comes from. */
export interface Server {
  readonly url: string
  /** Where the server comes from, in words. */
  readonly origin: string
  /** Stops the server if it is ours; does nothing to one that ran before. */
  stop(): Promise<void>
}

/** How long a server may take to come up, in milliseconds, on a slow and busy machine. */
const START_MS_MAX = 60_000

/** Pause between two probes, in milliseconds. */
const PROBE_MS = 25

const GUARDIAN = fileURLToPath(new URL('guardian.mjs', import.meta.url))

/** Starts a server and waits until it can be used. Returns what stops it. */
export async function startGuarded(spec: ServerSpec): Promise<() => Promise<void>> {
  const { probe, ...order } = spec
  const guardian = spawn(process.execPath, [GUARDIAN, JSON.stringify(order)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(guardian, 'exit')
  const log = text(guardian.stdout)
  const stop = async (): Promise<void> => {
    guardian.stdin.destroy()
    await ended
  }
  // From here on nothing but the tether binds the two: neither keeps the other alive.
  guardian.unref()

  if (await isUp(guardian, probe)) return stop
  await stop()
  throw new Error(`${spec.commands.at(-1)?.[0]} did not come up: ${(await log).trim()}`)
}

async function isUp(guardian: ChildProcess, probe: () => Promise<unknown>): Promise<boolean> {
  const attemptsMax = START_MS_MAX / PROBE_MS
  for (let attempt = 0; attempt < attemptsMax && guardian.exitCode === null; attempt++) {
    const up = await probe().then(
      () => true,
      () => false,
    )
    if (up) return true
    await delay(PROBE_MS)
  }
  return false
}

const LOOPBACK = '127.0.0.1'

/**
 * Ports below those that systems give to outgoing connections (from 32768 on Linux). A port from among
 * those could go to somebody's connection before the server that it was chosen for listens on it.
 */
const PORTS = { first: 10_240, count: 22_528 } as const

/**
 * A TCP port of the loopback interface that nobody listens on, and that nobody else is given by this
 * function before this process ends: the process holds the UDP port of the same number.
 */
export async function freePort(): Promise<number> {
  const start = randomInt(PORTS.count)
  for (let tried = 0; tried < PORTS.count; tried++) {
    const port = PORTS.first + ((start + tried) % PORTS.count)
    const reservation = createSocket('udp4').unref()
    if (!(await listens(reservation.bind({ port, address: LOOPBACK, exclusive: true })))) continue
    const server = createServer()
    const isFree = await listens(server.listen({ port, host: LOOPBACK, exclusive: true }))
    if (isFree) {
      await promisify(server.close.bind(server))()
      return port
    }
    reservation.close()
  }
  throw new Error('No port is free.')
}

/** Whether a socket gets its port. */
async function listens(socket: EventEmitter): Promise<boolean> {
  try {
    await once(socket, 'listening')
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE' || code === 'EACCES') return false
    throw error
  }
}
