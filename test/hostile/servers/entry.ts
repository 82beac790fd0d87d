/**
 * The client that is tried, as one module: each copy of it stands for a process of its own.
 *
 * @module
 */

export { createClient } from '../../../src/client/client.ts'
export { fileJournal } from '../../../src/client/file-journal.ts'
export { memoryJournal } from '../../../src/client/journal.ts'
export { machine } from '../../../src/client/journal-files.ts'
export { localStorageJournal } from '../../../src/client/web-journals.ts'
