import type { Command } from '../command.ts'
import { environmentOf } from '../environment.ts'

/** `reprise version`. */
export const version: Command = {
  ...{ name: 'version', summary: 'Show the version', flags: [], config: 'ignored' },
  examples: [['npx reprise version --json', 'The version, and what it runs on']],
  async run({ io }) {
    const document = environmentOf(io)
    return { document, text: `reprise ${document.reprise}` }
  },
}
