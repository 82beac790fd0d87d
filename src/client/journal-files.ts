/**
 * Files of a folder that are there as a whole or not at all.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { uuidV4 } from './key.ts'

/**
 * Where the number of a process means that process. Containers that share a folder may have one host
 * name, and processes of the same number: Linux tells them apart by their namespace.
 */
export const machine: string = createHash('sha256')
  .update(hostname())
  .update(readOrNothing(() => readlinkSync('/proc/self/ns/pid')))
  .update(readOrNothing(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')))
  .digest('hex')
  .slice(0, 12)

/** After how long a file of another machine that was not to stay is taken for left behind, in milliseconds. */
const LEFT_MS = 3_600_000

/** The files of a folder that only its owner can read. */
export class JournalFiles {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The whole path of a file; its folder is there when this resolves. */
  async path(name: string): Promise<string> {
    // Each time: a folder that could not be made, or that somebody removed, may be possible later.
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    return join(this.#folder, name)
  }

  async names(): Promise<readonly string[]> {
    return readdir(await this.path(''))
  }

  /** The text of a file; `undefined` when there is none. */
  async read(name: string): Promise<string | undefined> {
    try {
      return await readFile(await this.path(name), 'utf8')
    } catch (error) {
      if (isCode(error, 'ENOENT')) return undefined
      throw error
    }
  }

  /**
   * Writes a file over another. Its content is on disk before it takes its place; with `isDurable`
   * the place is as well.
   */
  async write(name: string, text: string, isDurable: boolean): Promise<void> {
    const beside = this.beside(name)
    try {
      const file = await open(await this.path(beside), 'wx', 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
      await this.moveForCertain(beside, name)
    } catch (error) {
      // On a full disk it would take room that others need.
      await this.remove(beside).catch(() => {})
      throw error
    }
    if (isDurable) await this.#sync()
  }

  /** Makes a file that is not there yet, with its content but not on disk; `false` when it is. */
  async create(name: string, text: string): Promise<boolean> {
    const beside = this.beside(name)
    try {
      await writeFile(await this.path(beside), text, { mode: 0o600, flag: 'wx' })
      await link(await this.path(beside), await this.path(name))
      return true
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false
      throw error
    } finally {
      await this.remove(beside)
    }
  }

  /** A name for what is not to stay, which nobody else chooses, on whatever machine. */
  beside(name: string): string {
    return `${name}.${machine}-${process.pid}-${uuidV4()}.tmp`
  }

  /** Removes what dead processes have left beside the files, at the time that is given. */
  async tidy(unixMs: number): Promise<void> {
    for (const name of await this.names()) {
      const [, where, pid] = /\.([0-9a-f]{12})-(\d+)-[0-9a-f-]{36}\.tmp$/.exec(name) ?? []
      if (pid === undefined) continue
      const isLeft = where === machine ? !isRunning(Number(pid)) : await this.#isOld(name, unixMs)
      if (isLeft) await this.remove(name)
    }
  }

  async #isOld(name: string, unixMs: number): Promise<boolean> {
    const written = await stat(await this.path(name)).catch(() => undefined)
    return written !== undefined && unixMs - written.mtimeMs > LEFT_MS
  }

  /** Gives a file another name, and throws where it is not there. */
  async moveForCertain(name: string, to: string): Promise<void> {
    if (await this.move(name, to)) return
    throw new Error(`${name} was removed from the journal before it could be moved to ${to}.`)
  }

  /** Gives a file another name; `false` when it is not there. */
  async move(name: string, to: string): Promise<boolean> {
    try {
      await rename(await this.path(name), await this.path(to))
      return true
    } catch (error) {
      if (isCode(error, 'ENOENT')) return false
      throw error
    }
  }

  async remove(name: string): Promise<void> {
    await rm(await this.path(name), { force: true })
  }

  /** The names of a folder are on disk when the folder itself is; Windows does without. */
  async #sync(): Promise<void> {
    if (process.platform === 'win32') return
    const folder = await open(this.#folder, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }
}

function readOrNothing(read: () => string): string {
  try {
    return read()
  } catch {
    // Not every system has it.
    return ''
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Whether there is a process of that number. */
export function isRunning(pid: number): boolean {
  try {
    // Signal 0 only asks.
    return process.kill(pid, 0)
  } catch (error) {
    return isCode(error, 'EPERM')
  }
}
