/**
 * Broken keeping of payloads and texts: what databases and encodings do to them.
 *
 * @module
 */

import type { KeyRecord } from '../../src/core/record.ts'
import type { Parts } from './pliable-store.ts'

/** What is wrong, and the part that makes it so. */
export const BROKEN_PAYLOADS: Readonly<Record<string, Partial<Parts>>> = {
  'reads bytes as text': keepingBytes((bytes) => Buffer.from(Buffer.from(bytes).toString())),
  'keeps no empty bytes': keepingBytes((bytes) => (bytes.length === 0 ? null : bytes)),
  'keeps nothing as empty bytes': keepingBytes((bytes) => bytes, new Uint8Array()),
  'ends bytes at a zero': keepingBytes((bytes) =>
    bytes.includes(0) ? bytes.slice(0, bytes.indexOf(0)) : bytes,
  ),
  'keeps 64 KiB': keepingBytes((bytes) => bytes.slice(0, 65_536)),
  'doubles quotes': keepingText((text) => text.replaceAll("'", "''")),
  'splits at separators': keepingText((text) => text.split(':', 1)[0] ?? ''),
  'fills in placeholders': keepingText((text) => text.replaceAll('$1', 'value')),
  'reads null as nothing': keepingText((text) => (text === 'null' ? null : text)),
  'reads digits as a number': keepingText((text) => (/^\d+$/.test(text) ? `${+text}` : text)),
  'trims text': keepingText((text) => text.trim()),
  'normalises text': keepingText((text) => text.normalize('NFC')),
  'drops control characters': keepingText((text) => text.replace(/\p{Cc}/gu, '')),
  'cuts text': keepingText((text) => text.slice(0, 191)),
  'keeps no empty text': keepingText((text) => (text === '' ? null : text)),
  'keeps nothing as empty text': keepingText((text) => text, ''),
  'keeps a status in a byte': {
    written: (record) => ({
      ...record,
      response: record.response && { ...record.response, status: record.response.status % 256 },
    }),
  },
  'keeps no user agent': {
    written: (record) => ({ ...record, origin: { ...record.origin, userAgent: null } }),
  },
}

function keepingBytes(
  keep: (bytes: Uint8Array) => Uint8Array | null,
  nothing: Uint8Array | null = null,
): Partial<Parts> {
  const kept = (bytes: Uint8Array | null) => (bytes === null ? nothing : keep(bytes))
  return {
    written: (record) => ({ ...record, input: kept(record.input), state: kept(record.state) }),
  }
}

function keepingText(
  keep: (text: string) => string | null,
  nothing: string | null = null,
): Partial<Parts> {
  const kept = (text: string | null) => (text === null ? nothing : keep(text))
  return {
    written: (record): KeyRecord => {
      const { requestId, ip, userAgent } = record.origin
      const origin = { requestId: kept(requestId), ip: kept(ip), userAgent: kept(userAgent) }
      return {
        ...record,
        origin,
        recoveryPoint: record.recoveryPoint && kept(record.recoveryPoint),
      }
    },
  }
}
