/** What the pages of the tests load: the client as a page has it, under one global name. */

import { protectForm } from '../../src/client/form.ts'
import { createClient, deriveKey } from '../../src/client/index.ts'
import { indexedDbJournal, localStorageJournal } from '../../src/client/web-journals.ts'

const params = new URLSearchParams(location.search)
const journal = params.get('journal') === 'indexeddb' ? indexedDbJournal() : localStorageJournal()
const client = createClient({ journal, backoffMs: 20, attemptsMax: 50 })
const page = { client, deriveKey, protectForm }

declare global {
  /** For the tests. */
  var page: PageGlobals
}

export type PageGlobals = typeof page
globalThis.page = page
