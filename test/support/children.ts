import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

/** A child process at work. */
export interface Child<Message> {
  /** The next thing that it says; rejects when it ends before. */
  message(): Promise<Message>
  /** Says something to it. */
  send(message: string): void
  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void
  /** Resolves when it is gone, however that came. */
  readonly gone: Promise<unknown>
  /** Ends it at once, whatever it is doing; resolves when it is gone. */
  kill(): Promise<void>
}

/** Bundles a TypeScript program once for the test file; the result starts it as a process. */
export function useProgram<Task, Message>(source: string): (task: Task) => Child<Message> {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-program-'))
  beforeAll(async () => {
    await build({
      configFile: false,
      logLevel: 'error',
      build: {
        ...{ ssr: source, outDir: folder, target: 'node20' },
        rolldownOptions: { output: { entryFileNames: 'program.mjs' } },
      },
      // The bundle lies outside of the project, where it would not find its packages.
      ssr: { noExternal: true, external: ['pg-native', 'libsql', 'better-sqlite3', 'node:sqlite'] },
    })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return (task) => start(join(folder, 'program.mjs'), task)
}

function start<Message>(script: string, task: unknown): Child<Message> {
  const child = fork(script, [JSON.stringify(task)], { execArgv: [] })
  const gone = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(kill)
  return {
    ...{ kill, gone, message: inbox<Message>(child) },
    send: (message) => void child.send(message),
    signal: (name) => void child.kill(name),
  }
}

/** Messages in order, kept until somebody asks. */
function inbox<Message>(child: ChildProcess): () => Promise<Message> {
  const kept: Message[] = []
  let end: string | undefined
  let wake = () => {}
  child.on('message', (message: Message) => {
    kept.push(message)
    wake()
  })
  // What the process said last may be read after its exit is known, but before its channel is closed.
  void Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code, signal]]) => {
    end = `The process ended with ${signal ?? code}.`
    wake()
  })
  return async () => {
    for (;;) {
      const message = kept.shift()
      if (message !== undefined) return message
      if (end !== undefined) throw new Error(end)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}
