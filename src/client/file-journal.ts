/**
 * A journal in a folder, for Node: one file for each operation, on disk before it is sent.
 *
 * A file is written beside its place, forced to disk and then moved there, so that a crash leaves the
 * old one or the new one and never half of it. Several processes may share the folder.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { type Clock, systemClock } from './clock.ts'
import { isOpen, type JournalEntry, parsedEntry } from './entry.ts'
import { FileLocks } from './file-locks.ts'
import type { JournalStore } from './journal.ts'
import { JournalFiles } from './journal-files.ts'

/** Settings of {@link fileJournal}. */
export interface FileJournalOptions {
  /** Where the files are; made if it is missing. Only its owner can read it. */
  readonly folder: string
  /**
   * Time, for tests.
   *
   * @default the real time
   */
  readonly clock?: Clock
}

/** Makes a journal in a folder. */
export function fileJournal({ folder, clock = systemClock }: FileJournalOptions): JournalStore {
  const files = new JournalFiles(folder)
  const locks = new FileLocks(files, clock)
  /** Files that were reported as damaged. */
  const warned = new Set<string>()
  return {
    async put(entry) {
      await files.write(`${nameOf(entry.id)}.json`, JSON.stringify(entry), isOpen(entry))
    },
    async get(id) {
      const name = `${nameOf(id)}.json`
      const text = await files.read(name)
      return text === undefined ? undefined : entryIn(text, await files.path(name))
    },
    remove: (id) => files.remove(`${nameOf(id)}.json`),
    async list() {
      await locks.tidy()
      const entries: JournalEntry[] = []
      for (const name of await files.names()) {
        const text = name.endsWith('.json') ? await files.read(name) : undefined
        if (text === undefined) continue
        try {
          entries.push(entryIn(text, await files.path(name)))
        } catch (error) {
          // The others are not kept from going on; this one is for a person to look at.
          if (!warned.has(name)) process.emitWarning(messageOf(error), { code: DAMAGED })
          warned.add(name)
        }
      }
      return entries
    },
    lock: (name) => locks.take(`${nameOf(name)}.lock`),
  }
}

/** Ids hold addresses; names of files do not. */
function nameOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

/** The code of the warning about a file that can not be read. */
const DAMAGED = 'REPRISE_JOURNAL_DAMAGED'

function entryIn(text: string, path: string): JournalEntry {
  const entry = parsedEntry(text)
  if (entry !== undefined) return entry
  throw new Error(`${path} holds no operation. Look at it, then move it out of the folder.`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
