/**
 * Files of a folder that are there as a whole or not at all.
 *
 * @module
 */

import { link, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The files of a folder that only its owner can read. */
export class JournalFiles {
  readonly #folder: string
  #made: Promise<unknown> | undefined
  #count = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The whole path of a file; its folder is there when this resolves. */
  async path(name: string): Promise<string> {
    this.#made ??= mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await this.#made
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
    const file = await open(await this.path(beside), 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await this.move(beside, name)
    if (isDurable) await this.#sync()
  }

  /** Makes a file that is not there yet, with its content but not on disk; `false` when it is. */
  async create(name: string, text: string): Promise<boolean> {
    const beside = this.beside(name)
    await writeFile(await this.path(beside), text, { mode: 0o600 })
    try {
      await link(await this.path(beside), await this.path(name))
      return true
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false
      throw error
    } finally {
      await this.remove(beside)
    }
  }

  /** A name for what is not to stay. */
  beside(name: string): string {
    return `${name}.${process.pid}-${this.#count++}.tmp`
  }

  /** Removes what dead processes have left beside the files. */
  async tidy(): Promise<void> {
    for (const name of await this.names()) {
      const [, pid] = /\.(\d+)-\d+\.tmp$/.exec(name) ?? []
      if (pid !== undefined && !isRunning(Number(pid))) await this.remove(name)
    }
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
