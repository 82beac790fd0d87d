import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const tests = join(import.meta.dirname, '..')
const page = readFileSync(join(tests, '../docs/security.md'), 'utf8')

/** A test as a row names it: its file, and its title. */
const NAMED = /^`([^`]+)` “(.+)”$/

/** The rows of the tables whose last column names tests. */
const rows = page
  .split('\n| threat | what holds | test |\n')
  .slice(1)
  .flatMap((table) => table.split('\n\n')[0]?.split('\n').slice(1) ?? [])
  .map((line) => line.slice(2, -2).split(' | '))

describe('the threat model', () => {
  test('has a part for each who can do harm', () => {
    for (const part of ['Clients', 'Other tenants', 'The database', 'Operators', 'Secrets']) {
      expect(page).toContain(`\n## ${part}`)
    }
    expect(rows.length).toBeGreaterThan(25)
  })

  test.each(rows)('%s', (...cells) => {
    expect(cells).toHaveLength(3)
    for (const named of cells[2]?.split('<br>') ?? []) {
      const [, file = '', title = ''] = NAMED.exec(named) ?? []
      expect([named, file !== '' && existsSync(join(tests, file))]).toEqual([named, true])
      expect(readFileSync(join(tests, file), 'utf8')).toContain(title)
    }
  })
})
