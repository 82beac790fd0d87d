import { createReadStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { DeedBody } from '../../src/testing/adapter-contract.ts'

/** The body of a request that no parser has read. */
export async function bytesFrom(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** What a deed gives piece by piece. */
export function streamOf(deed: Extract<DeedBody, { how: 'write' | 'stream' | 'file' }>): Readable {
  return deed.how === 'file' ? createReadStream(deed.path) : Readable.from(deed.body)
}
