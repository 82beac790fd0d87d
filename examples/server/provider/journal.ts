/**
 * A file that is only ever appended to, one line of JSON for each thing that happened.
 *
 * @module
 */

import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A journal that is open. */
export class Journal {
  readonly #file: FileHandle
  #writing: Promise<void> = Promise.resolve()

  private constructor(file: FileHandle) {
    this.#file = file
  }

  /** Opens the file, which is made if there is none; gives what is in it. */
  static async open(path: string): Promise<{ journal: Journal; lines: readonly unknown[] }> {
    await mkdir(dirname(path), { recursive: true })
    const file = await open(path, 'a+')
    const text = await file.readFile('utf8')
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    // The process died while it wrote: the line was never acknowledged, so it never happened.
    if (whole.length < text.length) await file.truncate(Buffer.byteLength(whole))
    const lines = whole.split('\n').filter((line) => line !== '')
    return { journal: new Journal(file), lines: lines.map((line): unknown => JSON.parse(line)) }
  }

  /** Resolves when the line is on the disk. */
  append(line: unknown): Promise<void> {
    const write = async () => {
      await this.#file.appendFile(`${JSON.stringify(line)}\n`)
      await this.#file.datasync()
    }
    const written = this.#writing.then(write)
    this.#writing = written.catch(() => {})
    return written
  }

  /** Closes the file after what is being written. */
  async close(): Promise<void> {
    await this.#writing
    await this.#file.close()
  }
}
