/**
 * Which port the server listens on.
 *
 * @module
 */

import { once } from 'node:events'
import { createServer } from 'node:net'
import { freePort } from '../../../scripts/servers/guarded.ts'

/** The port when none is asked for. */
export const PORT_DEFAULT = 3000

/** How many ports after the default one are tried. */
const TRIES_MAX = 100

/** A port, and whether it is another than the one that was hoped for. */
export interface ChosenPort {
  readonly port: number
  readonly busy: number | undefined
}

/**
 * Chooses the port: the one that is asked for, or else the first free one from 3000 on.
 *
 * @throws Error when the port that is asked for is taken, or no address can be listened on
 */
export async function choosePort(host: string, asked: number | undefined): Promise<ChosenPort> {
  if (asked !== undefined) {
    // Any port: one that stays free until the API listens on it, also after it was started again.
    const port = await free(host, asked === 0 ? await freePort() : asked)
    if (port !== undefined) return { port, busy: undefined }
    throw new Error(
      `Port ${asked} of ${host} is in use (PORT=${asked}). Stop what listens there, or set PORT to another one.`,
    )
  }
  for (let port = PORT_DEFAULT; port < PORT_DEFAULT + TRIES_MAX; port++) {
    if ((await free(host, port)) === undefined) continue
    return { port, busy: port === PORT_DEFAULT ? undefined : PORT_DEFAULT }
  }
  throw new Error(`No port from ${PORT_DEFAULT} on is free on ${host}.`)
}

/** The port if nobody listens on it. */
async function free(host: string, asked: number): Promise<number | undefined> {
  const server = createServer()
  try {
    await once(server.listen(asked, host), 'listening')
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') return undefined
    const problem =
      code === 'EACCES'
        ? `Port ${asked} may not be used by this user.`
        : `HOST=${host} can not be listened on: ${String(error)}`
    throw new Error(problem, { cause: error })
  } finally {
    server.close()
  }
}

/** Where the server is reached from this machine. */
export function urlOf(host: string, port: number): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}
