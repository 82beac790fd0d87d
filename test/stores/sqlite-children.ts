import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { ChildMessage, ChildTask } from './sqlite-child.ts'

/** A child process at work. */
export interface Child {
  /** The next thing that it says. */
  message(): Promise<ChildMessage>
  /** Lets it go on. */
  go(): void
  /** Ends it at once, whatever it is doing; resolves when it is gone. */
  kill(): Promise<void>
}

/** Bundles the child once for the test file; the result starts one. */
export function useChildren(): (task: ChildTask) => Child {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-sqlite-child-'))
  beforeAll(async () => {
    await build({
      configFile: false,
      logLevel: 'error',
      build: {
        ...{ ssr: join(import.meta.dirname, 'sqlite-child.ts'), outDir: folder, target: 'node20' },
        rolldownOptions: { output: { entryFileNames: 'child.mjs' } },
      },
    })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return (task) => start(join(folder, 'child.mjs'), task)
}

function start(script: string, task: ChildTask): Child {
  const child = fork(script, [JSON.stringify(task)], { execArgv: [] })
  const gone = once(child, 'exit')
  const messages = inbox(child)
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(kill)
  return { kill, message: messages, go: () => void child.send('go') }
}

/** Messages in order, kept until somebody asks. */
function inbox(child: ChildProcess): () => Promise<ChildMessage> {
  const kept: ChildMessage[] = []
  let wake = () => {}
  let exit: string | undefined
  child.on('message', (message: ChildMessage) => {
    kept.push(message)
    wake()
  })
  child.on('exit', (code, signal) => {
    exit = `The child ended with ${signal ?? code}.`
    wake()
  })
  return async () => {
    for (;;) {
      const message = kept.shift()
      if (message !== undefined) return message
      if (exit !== undefined) throw new Error(exit)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}
