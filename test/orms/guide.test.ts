/**
 * The guide shows what is tested: every line on an ORM stands in the tests of that ORM.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/postgres.md'), 'utf8')

it.each(['Drizzle', 'Kysely', 'Knex', 'Prisma', 'TypeORM'])('shows %s as it is tested', (name) => {
  const section = guide.split(`### ${name}\n`)[1]
  const code = /```ts\nimport .*\n\n([^`]+)```/.exec(section ?? '')?.[1]
  const tests = readFileSync(join(import.meta.dirname, `${name.toLowerCase()}.test.ts`), 'utf8')

  const lines = code?.trim().split('\n') ?? []
  expect(lines).toHaveLength(2)
  for (const line of lines) expect(tests).toContain(line)
})
