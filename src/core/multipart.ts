/**
 * Forms with uploads (`multipart/form-data`), compared by their parts.
 *
 * An encoder draws a new boundary each time, so two bodies that say the same differ in their bytes. Two
 * forms are equal when their parts are: name, file name, media type, any other header of a part, and
 * content. The order of parts counts within one name only, as in other forms.
 *
 * A body is taken apart only where every parser would do it in the same way. If anything about it is
 * irregular, the parser here gives up and the caller compares the bytes: text before the first boundary
 * or after the last, a boundary inside a part, a line that ends without CR, a header that is folded,
 * repeated or malformed, a part without a name, a missing end.
 *
 * Content is hashed while it arrives. What stays in memory is one line per part, within bounds.
 *
 * @module
 */

import { createHash, type Hash } from 'node:crypto'
import { lengthPrefixed } from './identity.ts'
import { type Exclusion, isFieldExcluded, rootOf } from './member-path.ts'

/** How many bytes of headers one part may have. */
const PART_HEADERS_BYTES_MAX = 16_384
/** How many characters the lines of all parts may have together. */
const PARTS_LENGTH_MAX = 1_048_576

const CRLF = '\r\n'
const HEADER = /^([!#$%&'*+.^_`|~\w-]+):([^\0\r\n]*)$/
const PARAMETER = /[ \t]*;[ \t]*([!#$%&'*+.^_`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))[ \t]*/y

interface Part {
  readonly name: string
  /** Canonical text of everything but the content. */
  readonly head: string
}

/** A part whose content was read. */
interface ReadPart {
  /** What parts are sorted by. */
  readonly root: string
  readonly text: string
}

/** Where in the body the next byte stands. */
type Place = 'start' | 'behind-boundary' | 'headers' | 'content' | 'end' | 'irregular'

/** Takes one form apart while it arrives. */
export class MultipartForm {
  readonly #delimiter: Buffer
  readonly #exclusion: Exclusion | undefined
  readonly #parts: ReadPart[] = []
  #place: Place = 'start'
  #part: Part | undefined
  #content: Hash | undefined
  #length = 0
  /** Bytes that cannot be understood before more of them are here. */
  #rest = Buffer.alloc(0)

  /** @param boundary - as the media type names it */
  constructor(boundary: string, exclusion: Exclusion | undefined) {
    this.#delimiter = Buffer.from(`--${boundary}`, 'latin1')
    this.#exclusion = exclusion
  }

  /** Takes the next bytes. Keeps no hold on them. */
  update(chunk: Uint8Array): void {
    if (this.#place === 'irregular') return
    const given = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let bytes = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given])
    for (let rest = this.#step(bytes); rest !== undefined; rest = this.#step(bytes)) bytes = rest
    this.#rest = Buffer.from(bytes)
  }

  /** The canonical text of the form; `undefined` where the body is irregular. */
  canonical(): string | undefined {
    const isWhole = this.#place === 'end' && ['', CRLF].includes(this.#rest.toString('latin1'))
    if (!isWhole) return undefined
    // Sorting is stable: parts of one name keep their order.
    return lengthPrefixed(this.#parts.sort(byRoot).map(({ text }) => text))
  }

  /** Goes one place on and gives the bytes that follow; `undefined` while more bytes are needed. */
  #step(bytes: Buffer): Buffer | undefined {
    switch (this.#place) {
      case 'start':
        return this.#firstBoundary(bytes)
      case 'behind-boundary':
        return this.#behindBoundary(bytes)
      case 'headers':
        return this.#headers(bytes)
      case 'content':
        return this.#readContent(bytes)
      case 'end':
        if (bytes.length > CRLF.length) this.#place = 'irregular'
        return undefined
      case 'irregular':
        return undefined
    }
  }

  #firstBoundary(bytes: Buffer): Buffer | undefined {
    const { length } = this.#delimiter
    if (bytes.length < length) return undefined
    const isFirst = bytes.subarray(0, length).equals(this.#delimiter)
    return this.#goOn(isFirst ? 'behind-boundary' : 'irregular', bytes, length)
  }

  #behindBoundary(bytes: Buffer): Buffer | undefined {
    if (bytes.length < CRLF.length) return undefined
    const next = bytes.toString('latin1', 0, CRLF.length)
    const place = next === CRLF ? 'headers' : next === '--' ? 'end' : 'irregular'
    return this.#goOn(place, bytes, CRLF.length)
  }

  #headers(bytes: Buffer): Buffer | undefined {
    const end = bytes.indexOf(CRLF + CRLF)
    if (end === -1) {
      if (bytes.length > PART_HEADERS_BYTES_MAX) this.#place = 'irregular'
      return undefined
    }
    this.#part = end > PART_HEADERS_BYTES_MAX ? undefined : partOf(bytes.toString('latin1', 0, end))
    this.#content = createHash('sha256')
    const place = this.#part === undefined ? 'irregular' : 'content'
    return this.#goOn(place, bytes, end + 2 * CRLF.length)
  }

  #readContent(bytes: Buffer): Buffer | undefined {
    const at = bytes.indexOf(this.#delimiter)
    // Without a boundary in sight, all but its possible beginning is content.
    const end = (at === -1 ? bytes.length - this.#delimiter.length + 1 : at) - CRLF.length
    if (at === -1) {
      if (end <= 0) return undefined
      this.#content?.update(bytes.subarray(0, end))
      return this.#goOn('content', bytes, end)
    }
    if (end < 0 || bytes.toString('latin1', end, at) !== CRLF) {
      return this.#goOn('irregular', bytes, at)
    }
    this.#content?.update(bytes.subarray(0, end))
    return this.#goOn(this.#endPart(), bytes, at + this.#delimiter.length)
  }

  #endPart(): Place {
    const { name = '', head = '' } = this.#part ?? {}
    const text = lengthPrefixed([head, this.#content?.digest('base64url') ?? ''])
    this.#length += text.length
    if (this.#length > PARTS_LENGTH_MAX) return 'irregular'
    if (!isFieldExcluded(name, this.#exclusion)) this.#parts.push({ root: rootOf(name), text })
    return 'behind-boundary'
  }

  #goOn(place: Place, bytes: Buffer, taken: number): Buffer {
    this.#place = place
    return bytes.subarray(taken)
  }
}

/** What the headers of a part say; `undefined` where they are irregular. */
function partOf(block: string): Part | undefined {
  const headers = new Map<string, string>()
  for (const line of block.split(CRLF)) {
    const [, name, value = ''] = HEADER.exec(line) ?? []
    if (name === undefined || headers.has(name.toLowerCase())) return undefined
    headers.set(name.toLowerCase(), value)
  }
  const name = nameIn(headers.get('content-disposition') ?? '')
  // The values count as they are written: not every parser reads one that is spelled otherwise.
  const head = lengthPrefixed([...headers].sort(([a], [b]) => (a < b ? -1 : 1)).flat())
  return name === undefined ? undefined : { name, head }
}

/** The name in `form-data; name="…"`; `undefined` where it says anything else, or two names. */
function nameIn(disposition: string): string | undefined {
  const [, rest] = /^[ \t]*form-data(.*)$/i.exec(disposition) ?? []
  if (rest === undefined) return undefined
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = 0
  while (PARAMETER.lastIndex < rest.length) {
    const [, name, quoted, token] = PARAMETER.exec(rest) ?? []
    if (name === undefined || parameters.has(name.toLowerCase())) return undefined
    parameters.set(name.toLowerCase(), quoted ?? token ?? '')
  }
  return parameters.get('name')
}

function byRoot(a: ReadPart, b: ReadPart): number {
  if (a.root === b.root) return 0
  return a.root < b.root ? -1 : 1
}
