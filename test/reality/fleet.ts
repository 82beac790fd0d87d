/** Three places where a node runs; when one is killed, another process takes its place. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import type { NodeMessage, NodeTask } from './node.ts'

/**
 * Bundles the node once, so that it starts fast; gives the script and what removes it.
 *
 * @param entry - the file, from the folder of this one
 */
export async function bundleNode(
  entry: string,
): Promise<{ script: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-reality-'))
  await build({
    ...{ configFile: false, logLevel: 'error' },
    build: {
      ...{ ssr: join(import.meta.dirname, entry), outDir: folder, target: 'node20' },
      rolldownOptions: { output: { entryFileNames: 'node.mjs' } },
    },
    // The bundle lies outside of the project, where it would not find its packages.
    ssr: { noExternal: true, external: ['pg-native'] },
  })
  const remove = () => rm(folder, { recursive: true, force: true })
  return { script: join(folder, 'node.mjs'), remove }
}

/** How long a client waits for an answer before it asks elsewhere, in milliseconds. */
const PATIENCE_MS = 2500

/** They go with us, however we end. */
const living = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})

/** One place. */
export class Slot {
  readonly #script: string
  readonly #task: Omit<NodeTask, 'version'>
  readonly #version: 1 | 2 | undefined
  readonly #asked = new Map<number, (answer: NodeMessage | undefined) => void>()
  #child: ChildProcess | undefined
  #number = 0

  /** @param version - of every node that runs here; by chance unless given */
  constructor(script: string, task: Omit<NodeTask, 'version'>, version?: 1 | 2) {
    this.#script = script
    this.#task = task
    this.#version = version
  }

  /** Starts a process here; resolves when it takes requests, also where it dies before. */
  async boot(): Promise<void> {
    // A deploy that goes on for ever: whoever is started is of the old version or of the new one.
    const task: NodeTask = {
      ...this.#task,
      version: this.#version ?? (Math.random() < 0.5 ? 1 : 2),
    }
    // Hostile handlers use pg in ways that it warns of.
    const execArgv = ['--no-deprecation']
    const child = fork(this.#script, [JSON.stringify(task)], { execArgv })
    const gone = once(child, 'exit')
    living.add(child)
    child.once('exit', () => void living.delete(child))
    const up = new Promise<void>((resolve) => {
      child.on('message', (message: NodeMessage) => {
        if (message.id === undefined) resolve()
        else this.#answer(message.id, message)
      })
    })
    await Promise.race([up, gone])
    this.#child = child
  }

  /** Asks; `undefined` when nobody answered in time. */
  ask(key: string): Promise<NodeMessage | undefined> {
    const child = this.#child
    const id = ++this.#number
    if (child?.connected !== true) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#answer(id, undefined), PATIENCE_MS)
      this.#asked.set(id, (answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
      child.send(JSON.stringify({ id, key }), (error) => {
        if (error !== null) this.#answer(id, undefined)
      })
    })
  }

  /** Kills the process with everything that it does, and starts another. */
  async replace(): Promise<void> {
    await this.end()
    await this.boot()
  }

  /** Freezes the process for so many milliseconds. */
  async freeze(ms: number): Promise<void> {
    const child = this.#child
    child?.kill('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, ms))
    child?.kill('SIGCONT')
  }

  async end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined) return
    const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    child.kill('SIGKILL')
    await gone
    for (const id of this.#asked.keys()) this.#answer(id, undefined)
  }

  #answer(id: number, message: NodeMessage | undefined): void {
    const resolve = this.#asked.get(id)
    this.#asked.delete(id)
    resolve?.(message)
  }
}
