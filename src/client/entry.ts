/**
 * An operation as the journal keeps it: plain data, readable by people.
 *
 * @module
 */

/** How far an operation has come. */
export type EntryState =
  /** Never sent. */
  | 'queued'
  /** Sent, or about to be: it may have taken effect. */
  | 'sent'
  /** Answered. Headers and body are no longer kept. */
  | 'answered'
  /** Not answered while the server kept its key; nobody but a person can settle it. */
  | 'expired'

/** One operation. */
export interface JournalEntry {
  /** Names the entry: method, address and key. */
  readonly id: string
  readonly key: string
  /** On whose behalf; it is resumed only on behalf of the same. */
  readonly caller: string
  /** What operations are kept in order for. */
  readonly resource: string | null
  readonly state: EntryState
  readonly method: string
  readonly url: string
  /** As they are sent, without those that hold secrets. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Text, or base64. */
  readonly body: string | null
  readonly bodyEncoding: 'utf8' | 'base64'
  /** Of the options of `fetch`, those that a later attempt needs. */
  readonly options: Readonly<Record<string, unknown>>
  /** Unix time in milliseconds, with a fraction that keeps operations of one client in order. */
  readonly createdAt: number
  /** When it was sent first; Unix time in milliseconds. */
  readonly sentAt: number | null
  /** When it was answered; Unix time in milliseconds. */
  readonly answeredAt: number | null
  /** How many attempts were sent, as far as it was written down. */
  readonly attempts: number
  /** Status of the answer. */
  readonly status: number | null
}

/** Whether there is still something to do. */
export function isOpen({ state }: JournalEntry): boolean {
  return state === 'queued' || state === 'sent'
}

/** The entry in a text; `undefined` when there is none in it, because it is damaged or somebody else's. */
export function parsedEntry(text: string): JournalEntry | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isEntry =
      typeof value === 'object' &&
      value !== null &&
      ['id', 'key', 'caller', 'state', 'method', 'url'].every(
        (name) => typeof Reflect.get(value, name) === 'string',
      )
    // Whoever writes these writes all of them.
    return isEntry ? (value as JournalEntry) : undefined
  } catch {
    return undefined
  }
}

/** The order in which operations were begun. */
export function byAge(a: JournalEntry, b: JournalEntry): number {
  return a.createdAt - b.createdAt
}

/**
 * `Uint8Array<ArrayBuffer>`: bytes that `fetch` takes. Not written so, because the types are published and
 * `Uint8Array` takes no parameter before TypeScript 5.7.
 */
export type OwnBytes = ReturnType<typeof Uint8Array.of>

/** Bytes as a text that gives the very same bytes back. */
export function packed(bytes: Uint8Array | null): Pick<JournalEntry, 'body' | 'bodyEncoding'> {
  if (bytes === null) return { body: null, bodyEncoding: 'utf8' }
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return { body: decoder.decode(bytes), bodyEncoding: 'utf8' }
  } catch {
    const chars = bytes.reduce((text, byte) => text + String.fromCharCode(byte), '')
    return { body: btoa(chars), bodyEncoding: 'base64' }
  }
}

/** The bytes that were packed. */
export function unpacked({ body, bodyEncoding }: JournalEntry): OwnBytes | null {
  if (body === null) return null
  if (bodyEncoding === 'utf8') return new TextEncoder().encode(body)
  return Uint8Array.from(atob(body), (char) => char.charCodeAt(0))
}
