import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/** Situations of the behaviour matrix. */
const ROWS = Array.from({ length: 44 }, (_, index) => index + 1)

const FILES = readdirSync(import.meta.dirname).filter((name) => /^rows-.*\.test\.ts$/.test(name))

/** Which rows the titles in a file name. */
function rowsIn(file: string): ReadonlySet<number> {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
  const titles = text.matchAll(/(?:\(|^\s*)'row (\d+): /gm)
  return new Set(Array.from(titles, ([, row]) => Number(row)))
}

/** The lines of the page: row, and the file that it names. */
function documented(): readonly (readonly [row: number, file: string])[] {
  const page = readFileSync(join(import.meta.dirname, '../../docs/behaviour.md'), 'utf8')
  const lines = page.matchAll(/^\| (\d+) \|.*\| `(\S+)` \|$/gm)
  return Array.from(lines, ([, row, file]) => [Number(row), file ?? ''] as const)
}

describe('the behaviour matrix', () => {
  it('has a test for each of its rows', () => {
    const tested = new Set(FILES.flatMap((file) => [...rowsIn(file)]))
    expect([...tested].sort((one, other) => one - other)).toEqual(ROWS)
  })

  it('has a line in docs/behaviour.md for each row, in order', () => {
    expect(documented().map(([row]) => row)).toEqual(ROWS)
  })

  it.each(documented())('names the file that tests row %i, %s', (row, file) => {
    expect(FILES).toContain(file)
    expect(rowsIn(file)).toContain(row)
  })
})
