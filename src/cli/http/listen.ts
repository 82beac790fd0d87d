/**
 * Listening on a port: the next free one if nobody asked for a certain one.
 *
 * @module
 */

import { createServer, type RequestListener, type Server } from 'node:http'
import type { Context } from '../command.ts'
import { CliError, usage } from '../errors.ts'

/** How many ports are tried, one after the other. */
const PORTS_MAX = 20

const PORT_MAX = 65_535

/** A server that listens. */
export interface Listening {
  readonly server: Server
  readonly port: number
  readonly url: string
  close(): Promise<void>
}

/**
 * The port that `--port` says, or the first free one from its default on; with `offset`, the first free
 * one so far behind it.
 *
 * @throws CliError `REPRISE_E_PORT` when the port that was asked for is in use
 */
export async function listen(
  { flags }: Pick<Context, 'flags'>,
  listener: RequestListener,
  offset: number = 0,
): Promise<Listening> {
  const { source } = flags.sourced('port')
  const given = flags.whole('port') ?? 0
  if (given > PORT_MAX) throw usage(`--port: from 0 to ${PORT_MAX}.`)
  // Any is any, and what stands beside the one that was asked for is nobody's wish.
  const wanted = given === 0 ? 0 : given + offset
  const host = flags.text('host') ?? '127.0.0.1'
  const isAsked = source !== 'default' && offset === 0
  for (let port = wanted; port < wanted + PORTS_MAX; port++) {
    const server = createServer(listener)
    try {
      return await start(server, port, host)
    } catch (error) {
      const isBusy = error instanceof Error && Reflect.get(error, 'code') === 'EADDRINUSE'
      if (!isBusy) throw unusable(error, host, port)
      if (isAsked) throw busy(port, source)
    }
  }
  throw busy(wanted, source)
}

/** Whether nobody but this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|\[::1\]|localhost)$/.test(host)
}

function start(server: Server, port: number, host: string): Promise<Listening> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      const actual = typeof address === 'object' && address !== null ? address.port : port
      const shown = host.includes(':') ? `[${host}]` : host
      const close = () =>
        new Promise<void>((closed) => {
          server.close(() => closed())
          // Streams of events never end by themselves.
          server.closeAllConnections()
        })
      resolve({ server, port: actual, url: `http://${shown}:${actual}`, close })
    })
  })
}

function busy(port: number, source: string): CliError {
  return new CliError('REPRISE_E_PORT', `Port ${port} is in use (${source}).`, {
    hint: `Free it, or choose another: --port ${port + 1}; --port 0 takes any.`,
  })
}

function unusable(cause: unknown, host: string, port: number): CliError {
  return new CliError('REPRISE_E_PORT', `${host}:${port} can not be listened on.`, {
    ...{ cause, hint: 'Give another --port or --host.' },
  })
}
