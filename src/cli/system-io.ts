/**
 * The terminal, or whatever the process was started with in its place.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import { createInterface, emitKeypressEvents } from 'node:readline'
import { text } from 'node:stream/consumers'
import { isatty, type ReadStream } from 'node:tty'
import { systemClock, systemRandom } from '../engine/clock.ts'
import type { Io, TextIn, TextOut } from './io.ts'

/** The world of this process. A second signal ends it at once. */
export function systemIo(): Io {
  const abort = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (abort.signal.aborted) process.exit(130)
      abort.abort(signal)
    })
  }
  return {
    ...{ stdout: outOf(process.stdout, 1), stderr: outOf(process.stderr, 2) },
    ...{ stdin: inOf(process.stdin, 0), env: process.env, cwd: process.cwd() },
    ...{ clock: systemClock, random: systemRandom, interrupted: abort.signal },
    program: process.argv[1] ?? '',
    open: openPage,
  }
}

/** Resolves when everything that was written has left the process. */
export async function flushed(): Promise<void> {
  const drained = (stream: NodeJS.WriteStream) =>
    new Promise<void>((resolve) => {
      if (stream.destroyed) resolve()
      else stream.write('', () => resolve())
    })
  await Promise.all([drained(process.stdout), drained(process.stderr)])
}

function outOf(stream: NodeJS.WriteStream, descriptor: number): TextOut {
  // Whoever reads a list may have seen enough of it: `reprise keys list | head`.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  return {
    write: (words) => void stream.write(words),
    isTTY: isatty(descriptor),
    get columns() {
      return stream.columns ?? 80
    },
  }
}

function inOf(stream: ReadStream, descriptor: number): TextIn {
  return {
    isTTY: isatty(descriptor),
    all: () => text(stream),
    ask(question) {
      // Questions are for people: they go where the notes go, and not into what is piped on.
      const lines = createInterface({ input: stream, output: process.stderr })
      return new Promise((resolve) => {
        lines.once('close', () => resolve(undefined))
        lines.question(question, (line) => {
          resolve(line)
          lines.close()
        })
      })
    },
    keys(listener) {
      const hear = (_: unknown, key: { readonly name?: string; readonly ctrl?: boolean }) => {
        // A raw terminal sends Ctrl-C as a key.
        if (key.ctrl === true && key.name === 'c') process.kill(process.pid, 'SIGINT')
        else listener(key.name ?? String(_))
      }
      emitKeypressEvents(stream)
      stream.setRawMode(true).resume().on('keypress', hear)
      return () => void stream.off('keypress', hear).setRawMode(false).pause()
    },
  }
}

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

function openPage(url: string): void {
  const [command, ...before] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(command, [...before, url], { stdio: 'ignore', detached: true })
  // Without a browser the address that was printed has to do.
  child.on('error', () => {})
  child.unref()
}
