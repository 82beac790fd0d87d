import type { Session } from './database/session.ts'

/** One exchange with something outside the process. */
export interface Exchange<T> {
  /** What is asked, in a few words. */
  readonly label: string
  /** What goes with it, where the process goes on from that once it has heard. */
  readonly given?: unknown
  /** Carried out over there, at once and as a whole. */
  readonly apply: () => T
  /** The transaction that it belongs to: it ends with the connection. */
  readonly session?: Session | undefined
  /** Whether it is carried out and never answered. */
  readonly hangs?: boolean | undefined
  /** The asker hears that the connection broke, and it arrives after so many milliseconds. */
  readonly lateMs?: number | undefined
}

/** The only way out of a process. */
export interface Wire {
  /** Asks and waits for the answer, which may come late, broken or never. */
  ask<T>(exchange: Exchange<T>): Promise<T>
  /** Hands a notification to the process. */
  notify(label: string, wake: () => void): void
  /** Connections that the process has not given back, where somebody counts them. */
  readonly connections?: Set<Session>
}
