/**
 * Everything that a command touches outside of itself, so that it runs in a test as it does in a
 * terminal.
 *
 * @module
 */

import type { Clock, Random } from '../engine/clock.ts'

/** Where text goes. */
export interface TextOut {
  write(text: string): void
  readonly isTTY: boolean
  /** Width in characters; 80 where nobody knows. */
  readonly columns: number
}

/** Where answers of a person come from. */
export interface TextIn {
  readonly isTTY: boolean
  /** Asks on the terminal and gives the line that was typed; `undefined` at its end. */
  ask(question: string): Promise<string | undefined>
  /** Tells of every key that is pressed, until stopped. */
  keys(listener: (key: string) => void): () => void
  /** Everything that is piped in. */
  all(): Promise<string>
}

/** The world of a command. */
export interface Io {
  readonly stdout: TextOut
  readonly stderr: TextOut
  readonly stdin: TextIn
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder of the project. */
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  /** Aborted by SIGINT or SIGTERM; its reason is the name of the signal. */
  readonly interrupted: AbortSignal
  /** The program to start again as a process of its own. */
  readonly program: string
  /** Opens a page in the browser of whoever sits there. */
  open(url: string): void
}

/** Whether `io` was interrupted by Ctrl-C and not by whoever runs the process. */
export function isByHand({ interrupted }: Pick<Io, 'interrupted'>): boolean {
  return interrupted.reason === 'SIGINT'
}

/** Resolves when `signal` is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Waits `ms` milliseconds, or until `io` is interrupted; says whether the time is up. */
export function pause({ clock, interrupted }: Io, ms: number): Promise<boolean> {
  if (interrupted.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const stop = () => {
      cancel()
      resolve(false)
    }
    const cancel = clock.after(ms, () => {
      interrupted.removeEventListener('abort', stop)
      resolve(true)
    })
    interrupted.addEventListener('abort', stop, { once: true })
  })
}
