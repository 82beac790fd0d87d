/**
 * ioredis, for one server and for a cluster; iovalkey has the same shape. Declared structurally, so
 * that the drivers need not be installed, in whichever version.
 *
 * @module
 */

import type { Argument, Connection, Listener, Primary, Reply } from '../client.ts'

/** What is used of a connection for messages. */
export interface IoredisListener {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  disconnect(): void
}

/** Settings that are looked at, or set on the connection for messages. */
export interface IoredisOptions {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly keyPrefix?: string | Buffer | undefined
  readonly enableOfflineQueue?: boolean | undefined
  readonly enableAutoPipelining?: boolean | undefined
}

/** What is used of a client that `new Redis()` made. */
export interface IoredisClient {
  readonly options: IoredisOptions
  callBuffer(command: string, args: Argument[]): Promise<unknown>
  duplicate(override?: { readonly enableOfflineQueue: boolean }): IoredisListener
}

/** What is used of a client that `new Cluster()` made. */
export interface IoredisCluster {
  readonly options: Pick<
    IoredisOptions,
    'keyPrefix' | 'enableOfflineQueue' | 'enableAutoPipelining'
  >
  callBuffer(command: string, args: Argument[]): Promise<unknown>
  nodes(role: 'master'): readonly Pick<IoredisClient, 'options' | 'callBuffer'>[]
  duplicate(nodes?: never[], override?: { readonly enableOfflineQueue: boolean }): IoredisListener
}

/** A subscription may be asked for before the connection is there. */
const QUEUED = { enableOfflineQueue: true }

/** A connection over an ioredis client. */
export function ioredisConnection(client: IoredisClient): Connection {
  const send = sender(client)
  return {
    isCluster: false,
    send: (_key, command) => send(command),
    primaries: async () => [{ address: addressOf(client.options), send }],
    listen: async (onMessage) => listener(client.duplicate(QUEUED), onMessage),
  }
}

/** A connection over an ioredis cluster client. */
export function ioredisClusterConnection(cluster: IoredisCluster): Connection {
  const send = sender(cluster)
  return {
    isCluster: true,
    // The driver finds the key in the command by itself.
    send: (_key, command) => send(command),
    primaries: async () =>
      cluster
        .nodes('master')
        .map((node): Primary => ({ address: addressOf(node.options), send: sender(node) })),
    listen: async (onMessage) => listener(cluster.duplicate([], QUEUED), onMessage),
  }
}

function sender(
  client: Pick<IoredisClient, 'callBuffer'> & {
    readonly options: Pick<IoredisOptions, 'enableAutoPipelining'>
  },
): Primary['send'] {
  if (client.options.enableAutoPipelining === true) return pipeliningSender(client)
  // The driver leaves the type of a raw reply open; the protocol has only these.
  return ([name = '', ...args]) => client.callBuffer(String(name), args) as Promise<Reply>
}

/**
 * With `enableAutoPipelining` ioredis drops the command's name from `callBuffer`, and throws where only
 * the process can catch it. The methods that are named after commands work.
 */
function pipeliningSender(client: object): Primary['send'] {
  return async ([name = '', ...args]) => {
    const method: unknown = Reflect.get(client, `${String(name).toLowerCase()}Buffer`)
    if (typeof method !== 'function')
      throw new TypeError(`The client has no command ${String(name)}.`)
    // As above.
    return Reflect.apply(method, client, [args]) as Promise<Reply>
  }
}

function addressOf({ host, port }: IoredisOptions): string {
  return `${host}:${port}`
}

function listener(client: IoredisListener, onMessage: (channel: string) => void): Listener {
  // An error event that nobody listens to is printed; the driver reconnects by itself.
  client.on('error', () => {})
  client.on('message', onMessage)
  return {
    subscribe: async (channel) => {
      await client.subscribe(channel)
    },
    unsubscribe: async (channel) => {
      await client.unsubscribe(channel)
    },
    close: async () => client.disconnect(),
  }
}
