/**
 * The process that `reprise dev` and `reprise demo` start for their sample API.
 *
 * @module
 */

import type { Command } from '../command.ts'
import { type ApiOptions, serveApi } from '../dev/api.ts'
import { caller } from '../dev/channel.ts'
import { remoteStore } from '../dev/remote-store.ts'
import { CliError } from '../errors.ts'

/** `reprise dev-api`, started by other commands only. */
export const devApi: Command = {
  ...{ name: 'dev-api', summary: 'The sample API of reprise dev', flags: [], isHidden: true },
  ...{ config: 'ignored', isLong: true },
  examples: [['npx reprise dev', 'What starts it']],
  async run({ io }) {
    if (process.send === undefined) {
      throw new CliError('REPRISE_E_USAGE', 'dev-api is started by reprise dev.', {
        hint: 'npx reprise dev',
      })
    }
    const call = caller(process)
    // As the supervisor writes it.
    const options = JSON.parse(io.env['REPRISE_DEV_API'] ?? '{}') as ApiOptions
    try {
      const port = await serveApi({ ...options, io, call, store: remoteStore(call) })
      await call('up', [port])
    } catch (error) {
      await call('failed', [error instanceof Error ? error.message : String(error)])
      throw error
    }
    // Without its parent there is neither store nor ledger. Ctrl-C is the parent's to answer.
    await new Promise<void>((resolve) => process.once('disconnect', () => resolve()))
    return undefined
  },
}
