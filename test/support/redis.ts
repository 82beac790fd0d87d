import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { createClient } from 'redis'
import { expect, inject } from 'vitest'
import { notRun } from './not-run.ts'

/**
 * The run's Redis server, for `describe.skipIf(redisUrl() === undefined)`. Where there is none, the
 * calling test file goes on the list of what did not run.
 */
export function redisUrl(): string | undefined {
  const redis = inject('redis')
  if ('url' in redis) return redis.url
  notRun({ suite: basename(expect.getState().testPath ?? 'Redis'), reason: redis.missing })
  return undefined
}

/** A prefix for keys of a test file's own. */
export function temporaryPrefix(): string {
  return `reprise-test:${randomBytes(6).toString('hex')}:`
}

/** Deletes every key that begins with the prefix. */
export async function deletePrefix(prefix: string): Promise<void> {
  const url = redisUrl()
  if (url === undefined) return
  const client = createClient({ url })
  await client.connect()
  try {
    for await (const keys of client.scanIterator({ MATCH: `${prefix}*`, COUNT: 1_000 })) {
      if (keys.length > 0) await client.unlink(keys)
    }
  } finally {
    client.destroy()
  }
}
