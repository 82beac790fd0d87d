/**
 * Which faults were really carried out, and for which key. Written down at the very moment, because a
 * process that is about to be killed has no other: what a request only asked for is not in it.
 *
 * @module
 */

import { appendFileSync, readFileSync } from 'node:fs'

/** A fault that was carried out. */
interface Entry {
  readonly key: string
  /** As `Demo-Fault` has it. */
  readonly fault: string
}

/** A file with one line for each fault; shared by all processes on the same data. */
export class FaultLog {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** Notes a fault. It is in the file when this returns. */
  note(key: string, fault: string): void {
    const entry: Entry = { key, fault }
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`)
  }

  /** The faults of a key, in order. */
  of(key: string): readonly string[] {
    const quoted = JSON.stringify(key)
    return this.#lines()
      .filter((line) => line.includes(quoted))
      .map((line): Entry => JSON.parse(line))
      .filter((entry) => entry.key === key)
      .map(({ fault }) => fault)
  }

  #lines(): readonly string[] {
    try {
      // What follows the last line end is still being written.
      return readFileSync(this.#file, 'utf8').split('\n').slice(0, -1)
    } catch {
      // No file: there was no fault yet.
      return []
    }
  }
}
