import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const text = readFileSync(join(root, 'docs/runtimes.md'), 'utf8')
const named = [...new Set(text.match(/(?<=`)test\/[^`]+(?=`)/g))]

describe('docs/runtimes.md', () => {
  it.each(named)('names a test that is there: %s', (path) => {
    expect(existsSync(join(root, path))).toBe(true)
  })

  it('names tests', () => {
    expect(named.length).toBeGreaterThan(20)
  })

  it('names the versions that are installed', () => {
    const manifest = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'))
    const versions = Object.values(manifest.dependencies).map(String)
    expect(versions).toHaveLength(3)
    for (const version of versions) expect(text).toContain(version)
  })
})
