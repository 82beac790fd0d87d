/**
 * Keeps what somebody sends on a Node response while the handler works.
 *
 * A library with callbacks may lose track of who began them, and then an answer of the handler looks
 * like one from in front. When the handler is over and has answered nothing else, it was its own.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { CapturedResponse } from '../core/response.ts'
import { bytesOf, partsOf } from './node-calls.ts'
import { Cover } from './node-cover.ts'
import { headersIn } from './node-stage.ts'

/** An answer on its way. */
export class SentAnswer {
  readonly #response: ServerResponse
  readonly #bytesMax: number
  readonly #chunks: Buffer[] = []
  #bytes = 0
  /** There once it has ended: the head as Node wrote it. */
  #head: { readonly status: number; readonly text: string } | undefined

  /** @param bytesMax - how many bytes of its body are kept at most */
  constructor(response: ServerResponse, bytesMax: number) {
    this.#response = response
    this.#bytesMax = bytesMax
    const cover = new Cover(response)
    for (const name of ['write', 'end']) {
      cover.method(name, (args) => {
        this.#take(args)
        const result = cover.call(name, args)
        if (name === 'end') this.#end()
        return result
      })
    }
  }

  /**
   * What was sent; `undefined` when it has not ended, or cannot be told.
   *
   * @param marks - names of the headers, in lower case, that were added to it
   */
  answer(marks: ReadonlySet<string>): CapturedResponse | undefined {
    if (this.#head === undefined) return undefined
    const { status, text } = this.#head
    const headers = headersIn(text).filter(([name]) => !marks.has(name.toLowerCase()))
    return this.#bytes > this.#bytesMax
      ? { status, headers, body: new Uint8Array(), bodyIsStream: true }
      : { status, headers, body: Buffer.concat(this.#chunks) }
  }

  /** Looked at now, because the handler sees another side of the response. */
  #end(): void {
    const { statusCode: status } = this.#response
    const text: unknown = Reflect.get(this.#response, '_header')
    // HTTP/2 has no such text.
    if (typeof text === 'string') this.#head ??= { status, text: text.trimEnd() }
  }

  #take(args: readonly unknown[]): void {
    const { chunk, encoding } = partsOf(args)
    const bytes = chunk instanceof Uint8Array ? Buffer.from(chunk) : bytesOf(chunk, encoding)
    if (bytes === undefined || this.#head !== undefined) return
    this.#bytes += bytes.byteLength
    if (this.#bytes <= this.#bytesMax) this.#chunks.push(bytes)
  }
}
