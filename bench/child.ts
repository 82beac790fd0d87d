/**
 * Servers under load, and who loads them, as child processes.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { LoadResult } from './load.ts'
import type { Usage } from './servers/main.ts'
import type { Reaped } from './servers/reaper.ts'
import type { SenderTask } from './servers/sender.ts'
import type { ServerTask } from './servers/setups.ts'

/** A server that can be asked. */
export interface ServerChild {
  readonly port: number
  usage(): Promise<Usage>
  /** Ends it, and waits until it is gone. */
  stop(): Promise<void>
}

/** A load generator in a process of its own. */
export interface SenderChild {
  /** Sends the loads and waits for every answer. */
  send(loads: SenderTask): Promise<LoadResult[]>
  stop(): Promise<void>
}

const PROGRAMS = join(import.meta.dirname, '.built', 'servers')

/**
 * Starts a server and waits until it listens.
 *
 * @throws Error when it ends before
 */
export async function startServer(
  task: ServerTask,
  flags: readonly string[] = [],
): Promise<ServerChild> {
  const child = start('main.mjs', task, flags)
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

/** Starts a load generator and waits until it can send. */
export async function startSender(): Promise<SenderChild> {
  const child = start('sender.mjs')
  const gone = once(child, 'exit')
  await messageOf<'ready'>(child, 'sender')
  return {
    async send(loads) {
      const results = messageOf<LoadResult[]>(child, 'sender')
      child.send(loads)
      return results
    },
    async stop() {
      child.disconnect()
      await gone
    },
  }
}

/** One run of the reaper, in a process of its own. */
export async function runReaper(task: ServerTask): Promise<Reaped> {
  const child = start('reaper.mjs', task)
  const gone = once(child, 'exit')
  const reaped = await messageOf<Reaped>(child, 'reaper')
  await gone
  return reaped
}

function start(program: string, task?: ServerTask, flags: readonly string[] = []): ChildProcess {
  const execArgv = [...(process.env.BENCH_NODE_OPTIONS?.split(' ') ?? []), ...flags]
  const env = { ...process.env, NODE_ENV: 'production' }
  return fork(join(PROGRAMS, program), [JSON.stringify(task)], { execArgv, env })
}

function messageOf<Message>(child: ChildProcess, name: string): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error(`The process of ${name} ended.`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      // What servers/main.ts, servers/reaper.ts and servers/sender.ts send.
      resolve(message as Message)
    })
  })
}
