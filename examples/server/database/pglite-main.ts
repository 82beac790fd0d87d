/** The process of PGlite. Whoever starts it has the lock of the data directory. */

import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { endWithParent, giveUp, turnToServe } from '../supervision/child.ts'
import { PgliteGateway } from './pglite-gateway.ts'

/** What the supervisor says. */
export interface PgliteOrder {
  /** Folder of the data. */
  readonly directory: string
  readonly port: number
}

async function serve({ directory, port }: PgliteOrder): Promise<() => Promise<void>> {
  await mkdir(dirname(directory), { recursive: true })
  const database = await PGlite.create(directory)
  const gateway = new PgliteGateway(database)
  const server = createServer((socket) => gateway.serve(socket))
  await once(server.listen(port, '127.0.0.1'), 'listening')
  return async () => {
    server.close()
    await gateway.close()
    await database.close()
  }
}

try {
  endWithParent(await serve(await turnToServe()))
  process.send?.('ready')
} catch (error) {
  giveUp(error)
}
