/**
 * The guides: what they link to is there, and what they import is exported.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CORS_ALLOW_HEADERS, CORS_EXPOSE_HEADERS } from '../../src/index.ts'

const folder = join(import.meta.dirname, '../../docs/guides')
const guides = readdirSync(folder).map((file) => [file, read(file)] as const)

const LINK = /\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g
const IMPORT = /^import \{([^}]*)\} from '(reprise[^']*)'/gm

describe.each(guides)('%s', (name, text) => {
  test('links only to what is there', () => {
    for (const [, file = '', heading] of text.matchAll(LINK)) {
      const target = read(file === '' ? name : file)
      if (heading !== undefined) expect(anchorsOf(target)).toContain(heading)
    }
  })

  test('imports only what the package exports', async () => {
    for (const [, names = '', path = ''] of text.matchAll(IMPORT)) {
      const exported: object = await import(/* @vite-ignore */ path)
      const imported = names.split(',').map((each) => each.trim())
      expect(Object.keys(exported)).toEqual(expect.arrayContaining(imported))
    }
  })
})

test('every guide is in the list of guides', () => {
  const list = read('README.md')
  const others = guides.map(([name]) => name).filter((name) => name !== 'README.md')

  expect(others.length).toBeGreaterThan(10)
  for (const name of others) expect(list).toContain(`(${name})`)
})

test('the table of headers has every header that is sent or read', () => {
  const [, section = ''] = /## Headers\n(.*?)\n## /s.exec(read('http.md')) ?? []
  const table = section.split('\n').filter((line) => line.startsWith('|'))
  const named = new Set(table.flatMap((line) => line.match(/(?<=`)[A-Z][A-Za-z-]+(?=[:`])/g) ?? []))
  const asked = ['Prefer', 'X-Request-Id', 'Early-Data', 'User-Agent']
  for (const header of [...CORS_EXPOSE_HEADERS, ...CORS_ALLOW_HEADERS, ...asked]) {
    expect(named).toContain(header)
  }
})

function read(file: string): string {
  return readFileSync(join(folder, file), 'utf8')
}

/** The anchors of a page, as they are made of its headings. */
function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  )
}
