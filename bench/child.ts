/**
 * Servers under load, as child processes.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Usage } from './servers/main.ts'
import type { ServerTask } from './servers/setups.ts'

/** A server that can be asked. */
export interface ServerChild {
  readonly port: number
  usage(): Promise<Usage>
  /** Ends it, and waits until it is gone. */
  stop(): Promise<void>
}

const PROGRAM = join(import.meta.dirname, '.built', 'servers', 'main.mjs')

/**
 * Starts a server and waits until it listens.
 *
 * @throws Error when it ends before
 */
export async function startServer(task: ServerTask): Promise<ServerChild> {
  const execArgv = process.env.BENCH_NODE_OPTIONS?.split(' ') ?? []
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = fork(PROGRAM, [JSON.stringify(task)], { execArgv, env })
  const gone = once(child, 'exit')
  const { port } = await messageOf<{ readonly port: number }>(child, task.variant)
  return {
    port,
    async usage() {
      const usage = messageOf<Usage>(child, task.variant)
      child.send('usage')
      return usage
    },
    async stop() {
      child.disconnect()
      await gone
    },
  }
}

function messageOf<Message>(child: ChildProcess, name: string): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error(`The server ${name} ended.`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      // What servers/main.ts sends.
      resolve(message as Message)
    })
  })
}
