/**
 * Locks among the processes that share a folder. They only save work: were two processes to hold one,
 * the key would still keep the operation from taking effect twice.
 *
 * @module
 */

import { stat, utimes } from 'node:fs/promises'
import type { Clock } from './clock.ts'
import type { Release } from './journal.ts'
import { isRunning, type JournalFiles, machine } from './journal-files.ts'
import { uuidV4 } from './key.ts'

/** How often the holder shows that it lives, and when it is taken for dead; in milliseconds. */
const SIGN_MS = 5_000
const DEAD_MS = 30_000

/** The locks that this process holds, for all journals in it. */
const held = new Set<string>()

/** Locks as files. A holder that was killed is recognised at once on the same machine. */
export class FileLocks {
  readonly #files: JournalFiles
  readonly #clock: Clock

  constructor(files: JournalFiles, clock: Clock) {
    this.#files = files
    this.#clock = clock
  }

  /** Takes a lock, unless a living process holds it. */
  async take(name: string): Promise<Release | undefined> {
    const own = `${process.pid} ${machine} ${uuidV4()}`
    // Twice at most: if somebody is faster after a dead holder is gone, the lock is theirs.
    for (const isLast of [false, true]) {
      held.add(own)
      if (await this.#files.create(name, own)) return this.#keep(name, own)
      held.delete(own)
      if (isLast || !(await this.#isFreed(name))) return undefined
    }
    return undefined
  }

  /** Removes what dead processes have left. */
  async tidy(): Promise<void> {
    await this.#files.tidy(this.#clock.unix())
    for (const name of await this.#files.names()) {
      if (name.endsWith('.lock')) await this.#isFreed(name)
    }
  }

  #keep(name: string, own: string): Release {
    let cancel = () => {}
    const sign = () => {
      cancel = this.#clock.after(SIGN_MS, () => {
        const time = this.#clock.unix() / 1000
        void this.#files
          .path(name)
          .then((path) => utimes(path, time, time))
          .catch(() => {})
        sign()
      })
    }
    sign()
    return async () => {
      cancel()
      held.delete(own)
      // A file that stays because of an error belongs to nobody, and is found to.
      await this.#freeIf(name, own).catch(() => {})
    }
  }

  /** Removes the lock of a holder that is gone. */
  async #isFreed(name: string): Promise<boolean> {
    const holder = await this.#files.read(name)
    if (holder === undefined) return true
    if (!(await this.#isDead(name, holder))) return false
    return this.#freeIf(name, holder)
  }

  /** Moved aside before it is looked at: whoever was faster keeps the lock. */
  async #freeIf(name: string, holder: string): Promise<boolean> {
    const aside = this.#files.beside(name)
    if (!(await this.#files.move(name, aside))) return true
    const isTheirs = (await this.#files.read(aside)) === holder
    if (isTheirs) await this.#files.remove(aside)
    else await this.#files.moveForCertain(aside, name)
    return isTheirs
  }

  async #isDead(name: string, holder: string): Promise<boolean> {
    const [pid = '', where] = holder.split(' ')
    if (where === machine) {
      if (Number(pid) === process.pid) return !held.has(holder)
      if (!isRunning(Number(pid))) return true
    }
    // Another machine, or a process that has got the number of the dead one.
    const path = await this.#files.path(name)
    const signed = await stat(path).catch(() => undefined)
    return signed === undefined || this.#clock.unix() - signed.mtimeMs > DEAD_MS
  }
}
