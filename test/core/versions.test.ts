import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isRepriseError } from '../../src/core/errors.ts'
import { NODE_REDIS, SUPPORTED, unsupported } from '../../src/core/versions.ts'

const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

describe('the page of versions', () => {
  it('has the rows of the table, in its order, and no other', () => {
    const page = readFileSync(join(root, 'docs/versions.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `(.+)` \| (\S+) \| `(.+)` \|$/gm)]

    expect(rows.map(([, name, least, use]) => ({ name, least, use }))).toEqual(SUPPORTED)
  })
})

describe('a version that can not work', () => {
  it('is refused with what was found and what works', () => {
    const error = unsupported(NODE_REDIS, 'of version 3 or older')

    expect(isRepriseError(error) && error.code).toBe('reprise-version-unsupported')
    const { name, least } = NODE_REDIS
    expect(error.message).toContain(
      `reprise/redis was given ${name} of version 3 or older; it works with ${name} ${least} and later.`,
    )
  })
})

describe('the manifest', () => {
  it('has as peers what the package imports, and no other', () => {
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    const imported = files
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => importsOf(readFileSync(join(root, 'src', file), 'utf8')))
    // These two have their types in packages of their own.
    const typed = ['@types/express', '@types/koa']

    expect(Object.keys(manifest.peerDependencies).sort()).toEqual(
      [...new Set([...imported, ...typed])].sort(),
    )
  })

  it('asks for no version of them, and for none of them to be installed', () => {
    for (const [name, range] of Object.entries(manifest.peerDependencies)) {
      expect([name, range, manifest.peerDependenciesMeta[name]]).toEqual([
        ...[name, '*', { optional: true }],
      ])
    }
    expect(Object.keys(manifest.peerDependenciesMeta)).toHaveLength(
      Object.keys(manifest.peerDependencies).length,
    )
    expect(manifest.dependencies).toBeUndefined()
  })
})

/** The packages that a module imports, also for types alone. */
function importsOf(text: string): readonly string[] {
  const statements = text.matchAll(/^(?:import|export|\}).* from '([^.'][^']*)'/gm)
  return [...statements]
    .map(([, specifier = '']) => specifier)
    .filter((specifier) => !specifier.startsWith('node:'))
    .map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
}
