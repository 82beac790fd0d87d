/**
 * PGlite, the last resort: PostgreSQL in this machine's own process, with one session for all.
 *
 * @module
 */

import { join } from 'node:path'
import { freePort } from '../../../scripts/servers/guarded.ts'
import { bundle } from '../supervision/bundle.ts'
import { Supervised } from '../supervision/supervised.ts'
import type { Database } from './database.ts'
import type { PgliteOrder } from './pglite-main.ts'

/** What using PGlite means. */
export const PGLITE_MEANS =
  'PGlite runs one transaction at a time and does not sync to disk: good for a look around, not for load, nor for data that must outlive a power cut.'

/** Starts PGlite in a process of its own, with a port that speaks as PostgreSQL does. */
export async function startPglite(directory: string): Promise<Database> {
  const port = await freePort()
  const data = join(directory, 'pglite')
  const supervised = new Supervised<PgliteOrder>({
    name: 'PGlite',
    bundle: await bundle('database/pglite-main.ts'),
    hasSpare: false,
  })
  const stop = () => supervised.stop()
  await supervised.serve({ directory: data, port })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  return { url, hasSessions: false, what: `PGlite, data in ${data}`, stop }
}
