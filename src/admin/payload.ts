/**
 * Input, state and answer of a request, opened and masked.
 *
 * @module
 */

import type { KeyRecord } from '../core/record.ts'
import type { OpenedResponse, SealOptions } from '../engine/seal.ts'
import { openResponse } from '../engine/seal.ts'
import { Envelope } from '../phases/envelope.ts'
import type { Payload } from './admin.ts'
import { parseExactly, type Redact } from './redact.ts'

/** How many bytes of a body are shown as hex. */
const HEX_BYTES_MAX = 4096

/** Opens a record and masks what is secret in it. */
export async function payloadOf(
  options: SealOptions,
  record: KeyRecord,
  redact: Redact,
): Promise<Payload> {
  const { id, input, state, response } = record
  const envelope = new Envelope(options, id)
  const opened = response === null ? null : await openResponse(options, id, response)
  return {
    input: input === null ? null : redact((await envelope.openInput(input)).input),
    state: state === null ? null : redact((await envelope.openState(state)).state),
    response: opened && {
      status: opened.status,
      headers: opened.headers.map(([name, value]) => [name, headerOf(redact, name, value)]),
      body: bodyOf(opened, redact),
    },
  }
}

function headerOf(redact: Redact, name: string, value: string): string {
  const member = Object.entries(redact({ [name]: value }) ?? {})[0]?.[1]
  return typeof member === 'string' ? member : 'REDACTED'
}

function bodyOf({ headers, body, bodyBytesOmitted }: OpenedResponse, redact: Redact): unknown {
  if (bodyBytesOmitted !== null) return { omitted: true, bytes: bodyBytesOmitted }
  const bytes = Buffer.from(body)
  const text = bytes.toString('utf8')
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? ''
  if (Buffer.compare(Buffer.from(text), bytes) !== 0 || bytes.includes(0)) {
    return { hex: bytes.subarray(0, HEX_BYTES_MAX).toString('hex'), bytes: bytes.length }
  }
  if (/\bapplication\/x-www-form-urlencoded\b/i.test(type)) {
    return redact(Object.fromEntries(new URLSearchParams(text)))
  }
  try {
    return redact(parseExactly(text))
  } catch {
    return redact(text)
  }
}
