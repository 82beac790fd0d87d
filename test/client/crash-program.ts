/**
 * A process that first finishes what is left in its journal, then sends operations without end, and
 * says each step that it takes; it is killed somewhere in between. Told to settle, it only finishes.
 */

import { createClient } from '../../src/client/client.ts'
import { fileJournal } from '../../src/client/file-journal.ts'

export interface CrashTask {
  readonly folder: string
  readonly baseUrl: string
  readonly name: string
  readonly isSettling: boolean
}

/** A step, or what the journal holds at the end. */
export type CrashMessage =
  | { readonly step: string }
  | { readonly keys: readonly string[]; readonly open: number; readonly resumed: number }

const { folder, baseUrl, name, isSettling } = JSON.parse(process.argv[2] ?? '') as CrashTask
const say = (message: CrashMessage) => void process.send?.(message)

const journal = fileJournal({ folder })
const client = createClient({
  ...{ baseUrl, backoffMs: 10, onEvent: ({ type }) => say({ step: type }) },
  journalLimits: { answeredMax: 1_000_000 },
  journal: {
    ...journal,
    async put(entry) {
      say({ step: 'writing' })
      await journal.put(entry)
      say({ step: 'written' })
    },
  },
})

/** Several at once, for ever: the end comes from outside. */
async function work(worker: number): Promise<void> {
  for (let at = 0; at < 100_000; at++) {
    await client.post('effects', { json: { op: `${name}-${worker}-${at}` } })
  }
}

if (isSettling) {
  const resumed = (await client.resume()).filter((one) => 'result' in one).length
  const entries = await client.journal.list()
  const open = entries.filter(({ state }) => state !== 'answered').length
  say({ keys: entries.map(({ key }) => key), open, resumed })
  process.disconnect?.()
} else {
  await client.resume()
  await Promise.all([work(0), work(1)])
}
