/**
 * node-redis (the package `redis`), for one server and for a cluster. Declared structurally, so that
 * the driver need not be installed, in whichever version.
 *
 * @module
 */

import type { Argument, Connection, Listener, Primary, Reply } from '../client.ts'

/** Per-command settings of node-redis, as far as they are used here. */
export interface NodeRedisCommandOptions {
  readonly typeMapping?: { readonly 36?: BufferConstructor }
  /** What version 4 has in place of `typeMapping`. */
  readonly returnBuffers?: boolean
  readonly timeout?: number
}

/** What is used of a connection for messages. */
export interface NodeRedisListener {
  on(event: 'error', listener: (error: Error) => void): unknown
  connect(): Promise<unknown>
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>
  unsubscribe(channel: string): Promise<void>
  /** From version 5 on. */
  destroy?(): void
  /** In version 4. */
  disconnect?(): unknown
}

/** What is used of a client that `createClient` made. */
export interface NodeRedisClient {
  /** Whether commands are sent at once, and do not wait for a connection; some versions do not say. */
  readonly isReady?: boolean
  on?(event: 'error', listener: (error: Error) => void): unknown
  sendCommand(args: readonly Argument[], options?: NodeRedisCommandOptions): Promise<unknown>
  duplicate(): NodeRedisListener
}

/** What is used of a client that `createCluster` made. */
export interface NodeRedisCluster {
  readonly masters: readonly { readonly address: string }[]
  on?(event: 'error', listener: (error: Error) => void): unknown
  sendCommand(
    firstKey: string,
    isReadonly: boolean,
    args: Argument[],
    options?: NodeRedisCommandOptions,
  ): Promise<unknown>
  nodeClient(node: {
    readonly address: string
  }): Promise<Pick<NodeRedisClient, 'sendCommand' | 'isReady'>>
  duplicate(overrides?: { readonly minimizeConnections?: boolean }): NodeRedisListener
}

/** 36 is `$`, the mark of a bulk string in the protocol: those come as bytes. */
const AS_BYTES: NodeRedisCommandOptions = { typeMapping: { 36: Buffer }, returnBuffers: true }

/**
 * The same without the driver's own bound on how long a command waits to be sent, for which it makes
 * an `AbortSignal` each time: 15 µs and a timer of five seconds. Requests have a bound of their own; what
 * they have given up leaves the driver's queue with the connection, and is withdrawn if it is granted late.
 */
const AT_ONCE: NodeRedisCommandOptions = { ...AS_BYTES, timeout: 0 }

/** A connection over a node-redis client. */
export function nodeRedisConnection(client: NodeRedisClient): Connection {
  shelter(client)
  const send = sender(client)
  return {
    isCluster: false,
    send: (_key, command) => send(command),
    primaries: async () => [{ address: 'the only server', send }],
    listen: (onMessage) => listen(client.duplicate(), onMessage),
  }
}

/** A connection over a node-redis cluster client. */
export function nodeRedisClusterConnection(cluster: NodeRedisCluster): Connection {
  shelter(cluster)
  return {
    isCluster: true,
    // As in `sender`.
    send: (key, command) =>
      cluster.sendCommand(key, false, [...command], AS_BYTES) as Promise<Reply>,
    primaries: () =>
      Promise.all(
        cluster.masters.map(async (node): Promise<Primary> => {
          return { address: node.address, send: sender(await cluster.nodeClient(node)) }
        }),
      ),
    // Messages need one connection; without the option there would be one to every node.
    listen: (onMessage) => listen(cluster.duplicate({ minimizeConnections: true }), onMessage),
  }
}

const sheltered = new WeakSet<object>()

/**
 * Keeps a client whose connection breaks from ending the process, which its `error` event would where
 * the app does not listen for it. The command that fails tells the store; the driver reconnects by itself.
 */
function shelter(client: Pick<NodeRedisClient, 'on'>): void {
  if (sheltered.has(client)) return
  sheltered.add(client)
  client.on?.('error', () => {})
}

function sender(client: Pick<NodeRedisClient, 'sendCommand' | 'isReady'>): Primary['send'] {
  return (command) => {
    // What waits for a connection is given up by the driver, lest it pile up.
    const options = client.isReady === true ? AT_ONCE : AS_BYTES
    // The driver leaves the type of a raw reply open; the protocol has only these.
    return client.sendCommand(command, options) as Promise<Reply>
  }
}

async function listen(
  client: NodeRedisListener,
  onMessage: (channel: string) => void,
): Promise<Listener> {
  // An error event that nobody listens to ends the process; the driver reconnects by itself.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    await end(client)
    throw error
  }
  return {
    subscribe: (channel) => client.subscribe(channel, (_message, from) => onMessage(from)),
    unsubscribe: (channel) => client.unsubscribe(channel),
    close: () => end(client),
  }
}

/** Ends a connection at once. */
async function end(client: NodeRedisListener): Promise<void> {
  if (client.destroy !== undefined) client.destroy()
  // One that is not open refuses to be closed.
  else await Promise.resolve(client.disconnect?.()).catch(() => {})
}
