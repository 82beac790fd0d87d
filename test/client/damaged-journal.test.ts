import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fileJournal } from '../../src/client/file-journal.ts'

it('a damaged file of a journal is told of once, by a warning with a code', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-damaged-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const name = `${'0'.repeat(64)}.json`
  writeFileSync(join(folder, name), '{"id":')
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const journal = fileJournal({ folder })
  for (let times = 0; times < 2; times++) expect(await journal.list()).toEqual([])

  expect(warn.mock.calls).toEqual([
    [expect.stringContaining(name), { code: 'REPRISE_JOURNAL_DAMAGED' }],
  ])
})
