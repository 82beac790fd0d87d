/**
 * The page that goes through the seeds: no row is empty, and each names tests that are there.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const docs = join(import.meta.dirname, '../../docs')
const page = readFileSync(join(docs, 'seeds.md'), 'utf8')

/** A test as a row names it: a link to its file, and its title. */
const NAMED = /^\[[^\]]+\]\(([^)]+)\) “(.+)”$/

const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && line !== '| point | what we do | test |')
  .map((line) => line.slice(2, -2).split(' | '))

describe('the page of the seeds', () => {
  test('has a part for each seed', () => {
    for (const seed of ['000', '001', '002', '003', '004']) expect(page).toContain(`\n## ${seed}: `)
    expect(rows.length).toBeGreaterThan(150)
  })

  test.each(rows)('%s', (...cells) => {
    expect(cells).toHaveLength(3)
    expect(cells.filter((cell) => cell.trim() === '')).toEqual([])
    for (const named of cells[2]?.split('<br>') ?? []) {
      const [, file = '', title = ''] = NAMED.exec(named) ?? []
      expect([named, file !== '' && existsSync(join(docs, file))]).toEqual([named, true])
      expect(readFileSync(join(docs, file), 'utf8')).toContain(title)
    }
  })
})
