/**
 * Where messages of PostgreSQL's and Redis's protocols begin and end.
 *
 * @module
 */

/** A protocol whose messages are told apart. */
export type Protocol = 'postgres' | 'redis'

/** Who sent a message. */
export type Direction = 'client' | 'server'

/** One message, whole. */
export interface Message {
  /** PostgreSQL: the letter of the message, or `startup`. Redis: the first character. */
  readonly type: string
  readonly bytes: Buffer
}

/** Gives the length of the message at the start of `bytes`; `undefined` while part of it is missing. */
type Measure = (bytes: Buffer) => number | undefined

/** Puts what arrives in pieces together into messages. */
export class Messages {
  readonly #protocol: Protocol
  #rest: Buffer = Buffer.alloc(0)
  /** The first message of a client of PostgreSQL has no letter. */
  #isStarting: boolean

  constructor(protocol: Protocol, direction: Direction) {
    this.#protocol = protocol
    this.#isStarting = protocol === 'postgres' && direction === 'client'
  }

  /** The messages that are whole now. */
  take(chunk: Buffer): readonly Message[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const whole: Message[] = []
    for (;;) {
      const measure = this.#measure()
      const length = measure(this.#rest)
      if (length === undefined || length > this.#rest.length) return whole
      const bytes = this.#rest.subarray(0, length)
      whole.push({ type: this.#typeOf(bytes), bytes })
      this.#rest = this.#rest.subarray(length)
      this.#isStarting = false
    }
  }

  #measure(): Measure {
    if (this.#protocol === 'redis') return (bytes) => endOfReply(bytes, 0)
    return this.#isStarting ? startupLength : messageLength
  }

  #typeOf(bytes: Buffer): string {
    return this.#isStarting ? 'startup' : bytes.toString('latin1', 0, 1)
  }
}

function startupLength(bytes: Buffer): number | undefined {
  return bytes.length < 4 ? undefined : bytes.readInt32BE(0)
}

function messageLength(bytes: Buffer): number | undefined {
  return bytes.length < 5 ? undefined : 1 + bytes.readInt32BE(1)
}

const AGGREGATES = '*~>%|'
/** Those that have two values for each of their count. */
const MAPS = '%|'
const BULKS = '$=!'

/** Where the reply that starts at `start` ends, or `undefined`. */
function endOfReply(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', start)
  if (lineEnd === -1) return undefined
  const type = bytes.toString('latin1', start, start + 1)
  const behind = lineEnd + 2
  const count = Number(bytes.toString('latin1', start + 1, lineEnd))
  if (BULKS.includes(type)) {
    const end = count < 0 ? behind : behind + count + 2
    return end > bytes.length ? undefined : end
  }
  if (!AGGREGATES.includes(type)) return behind
  let at: number | undefined = behind
  for (let left = MAPS.includes(type) ? 2 * count : count; left > 0; left--) {
    at = endOfReply(bytes, at)
    if (at === undefined) return undefined
  }
  return at
}

/** The number of the server process that a client of PostgreSQL is told of. */
export function backendPid({ type, bytes }: Message): number | undefined {
  return type === 'K' ? bytes.readInt32BE(5) : undefined
}
