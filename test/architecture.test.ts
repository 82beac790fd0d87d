import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Exception, judge, RULES, violationsIn } from './architecture/check.ts'
import { parse, parseFolder } from './architecture/source.ts'

/** Breaches that are allowed, each with its reason. One that excuses nothing fails the test. */
const EXCEPTIONS: readonly Exception[] = [
  {
    rule: 'no undeclared package at run time',
    path: 'cli/project.ts',
    subject: '(computed)',
    reason: 'The configuration and the driver are the project’s own, and only it has their paths.',
  },
]

describe('the source', () => {
  const sources = parseFolder(join(import.meta.dirname, '..', 'src'))
  const { breaches, stale } = judge(violationsIn(sources), EXCEPTIONS)

  test('keeps every rule', () => {
    expect(sources.length).toBeGreaterThan(10)
    expect(breaches).toEqual([])
  })

  test('needs every exception', () => {
    expect(stale).toEqual([])
  })
})

/** For each rule: files that breach it, with what is reported, and files that keep it. */
const EXAMPLES: readonly {
  readonly rule: string
  readonly bad: readonly (readonly [path: string, text: string, subject: string])[]
  readonly good: readonly (readonly [path: string, text: string])[]
}[] = [
  {
    rule: 'imports go one way',
    bad: [
      ['core/a.ts', `import { b } from '../engine/b.ts'`, 'core imports engine/b.ts'],
      ['core/a.ts', `import type { B } from '../engine/b.ts'`, 'core imports engine/b.ts'],
      ['core/a.ts', `export * from '../engine/b.ts'`, 'core imports engine/b.ts'],
      ['engine/a.ts', `type B = import('../stores/b.ts').B`, 'engine imports stores/b.ts'],
      ['stores/x/a.ts', `await import('../../testing/b.ts')`, 'stores imports testing/b.ts'],
      ['adapters/a.ts', `import { b } from '../stores/b.ts'`, 'adapters imports stores/b.ts'],
      ['client/a.ts', `import { b } from '../engine/b.ts'`, 'client imports engine/b.ts'],
      ['index.ts', `import { b } from './testing/b.ts'`, 'index imports testing/b.ts'],
      ['nowhere/a.ts', `import { b } from './b.ts'`, 'nowhere imports nowhere/b.ts'],
    ],
    good: [
      ['engine/a.ts', `import { b } from '../core/b.ts'`],
      ['core/dialects/a.ts', `import { b } from '../b.ts'`],
      ['client/a.ts', `import { b } from '../core/b.ts'`],
      ['cli/a.ts', `import { b } from '../dashboard/b.ts'`],
      ['index.ts', `export { b } from './core/b.ts'`],
    ],
  },
  {
    rule: 'stores do not import each other',
    bad: [
      ['stores/redis/a.ts', `import { b } from '../postgres/b.ts'`, 'stores/postgres/b.ts'],
      ['stores/a.ts', `import { b } from './postgres/b.ts'`, 'stores/postgres/b.ts'],
    ],
    good: [
      ['stores/redis/a.ts', `import { b } from '../b.ts'\nimport { c } from './c.ts'`],
      ['stores/redis/clients/a.ts', `import { b } from '../b.ts'`],
      ['index.ts', `export { b } from './stores/memory/index.ts'`],
    ],
  },
  {
    rule: 'no undeclared package at run time',
    bad: [
      ['core/a.ts', `import pg from 'pg'`, 'pg'],
      ['core/a.ts', `import { type Pool } from 'pg'`, 'pg'],
      ['core/a.ts', `await import('pg')`, 'pg'],
      ['core/a.ts', `await import(name)`, '(computed)'],
      ['core/a.ts', `import fs from 'fs'`, 'fs'],
      ['core/a.ts', `import x from 'node:nothing'`, 'node:nothing'],
    ],
    good: [
      ['core/a.ts', `import type { Pool } from 'pg'`],
      ['core/a.ts', `import { createHash } from 'node:crypto'`],
      ['core/a.ts', `await import('node:sqlite')`],
    ],
  },
  {
    rule: 'relative imports end in .ts',
    bad: [['core/a.ts', `import { b } from './b.js'`, './b.js']],
    good: [['core/a.ts', `import { b } from './b.ts'`]],
  },
  {
    rule: 'functions take at most 3 parameters',
    bad: [
      ['core/a.ts', 'function f(a, b, c, d) {}', 'f'],
      ['core/a.ts', 'class A { constructor(a, b, c, d) {} }', 'constructor'],
    ],
    good: [
      ['core/a.ts', 'function f(this: A, a, b, { c, d, e }) {}'],
      ['core/a.ts', 'interface Driver { f(a: A, b: A, c: A, d: A): void }'],
    ],
  },
  {
    rule: 'time and chance come through the ports',
    bad: [
      ['core/a.ts', 'Date.now()', 'Date.now'],
      ['core/a.ts', 'const random = Math.random', 'Math.random'],
      ['core/a.ts', 'new Date()', 'new Date()'],
      ['core/a.ts', 'performance.now()', 'performance.now'],
      ['core/a.ts', 'globalThis.setTimeout(f, 1)', 'setTimeout'],
      ['core/a.ts', 'setInterval(f, 1)', 'setInterval'],
      ['core/a.ts', 'setImmediate(f)', 'setImmediate'],
      ['core/a.ts', 'crypto.randomUUID()', 'randomUUID'],
      ['core/a.ts', 'randomBytes(16)', 'randomBytes'],
      ['core/a.ts', 'AbortSignal.timeout(1)', 'AbortSignal.timeout'],
      ['core/a.ts', `import { scheduler } from 'node:timers/promises'`, 'node:timers/promises'],
    ],
    good: [
      ['engine/clock.ts', 'setTimeout(f, 1)'],
      ['client/clock.ts', 'crypto.getRandomValues(f)'],
      ['core/a.ts', 'new Date(0); clock.now()'],
    ],
  },
  {
    rule: 'no any, !, enum or default export',
    bad: [
      ['core/a.ts', 'let a: any', 'any'],
      ['core/a.ts', 'a!.b', '!'],
      ['core/a.ts', 'class A { a!: string }', '!'],
      ['core/a.ts', 'enum A {}', 'enum'],
      ['core/a.ts', 'export default 1', 'default export'],
      ['core/a.ts', '/** F. */\nexport default function f() {}', 'default export'],
    ],
    good: [['core/a.ts', `switch (a) { default: f('any!') }`]],
  },
  {
    rule: 'assertions have a comment',
    bad: [
      ['core/a.ts', 'const a = b as C', 'C'],
      ['core/a.ts', '// Why.\nf()\nconst a = b as C', 'C'],
    ],
    good: [
      ['core/a.ts', '// Why.\nconst a = b as C'],
      ['core/a.ts', 'const a = b as C // Why.'],
      ['core/a.ts', '// Why.\nf({\n  a: b as C,\n})'],
      ['core/a.ts', `const a = ['b'] as const`],
    ],
  },
  {
    rule: 'exports have a doc comment',
    bad: [
      ['core/a.ts', 'export const a = 1', 'a'],
      ['core/a.ts', '// Not a doc comment.\nexport function f() {}', 'f'],
      ['core/a.ts', 'export interface A {}', 'A'],
      ['core/a.ts', '/** A. */\nexport type A = 1\nexport type B = 2', 'B'],
    ],
    good: [
      ['core/a.ts', '/** A. */\nexport const a = 1'],
      ['core/a.ts', '/** F. */\nexport function f(a: 1): 1\nexport function f(a: 2): 2'],
      ['core/a.ts', `const a = 1\nexport { b } from './b.ts'`],
    ],
  },
  {
    rule: 'SQL stands in queries and migrations',
    bad: [
      ['engine/a.ts', 'const a = `select 1`', 'select 1'],
      ['stores/postgres/store.ts', 'const a = `insert into ${table} values (1)`', 'insert into'],
    ],
    good: [
      ['stores/postgres/queries.ts', `const a = 'select 1'`],
      ['stores/postgres/migrations/0001.ts', `const a = 'create table a ()'`],
      ['stores/postgres/migrate.ts', `const a = 'select 1'`],
      ['core/a.ts', `const a = 'Select a key.'`],
    ],
  },
  {
    rule: 'file names are kebab-case and say what is inside',
    bad: [
      ['core/keyRecord.ts', '', 'core/keyRecord.ts'],
      ['core/utils.ts', '', 'core/utils.ts'],
      ['core/helpers/a.ts', '', 'core/helpers/a.ts'],
    ],
    good: [['core/key-record.ts', '']],
  },
  {
    rule: 'nothing is left for later or switched off',
    bad: [
      ['core/a.ts', '// TODO: more', 'TODO'],
      ['core/a.ts', '// @ts-expect-error', '@ts-expect-error'],
      ['core/a.ts', '// oxlint-disable-next-line', 'oxlint-disable'],
    ],
    good: [['core/a.ts', '// All done.']],
  },
]

describe.each(EXAMPLES)('the rule $rule', ({ rule, bad, good }) => {
  const firesOn = (path: string, text: string) =>
    violationsIn([parse(path, text)])
      .filter((violation) => violation.rule === rule)
      .map(({ subject }) => ({ path, text, subject }))

  test('fires on each file that breaks it', () => {
    const expected = bad.map(([path, text, subject]) => ({ path, text, subject }))
    expect(bad.flatMap(([path, text]) => firesOn(path, text))).toEqual(expected)
  })

  test('is silent about each file that keeps it', () => {
    expect(good.flatMap(([path, text]) => firesOn(path, text))).toEqual([])
  })
})

test('every rule has examples', () => {
  expect(EXAMPLES.map(({ rule }) => rule)).toEqual(Object.keys(RULES))
})

describe('the rule against cycles', () => {
  const cyclesOf = (files: Readonly<Record<string, string>>) =>
    violationsIn(Object.entries(files).map(([path, text]) => parse(path, text)))
      .filter(({ rule }) => rule === 'no cycle')
      .map(({ subject }) => subject)

  test('fires once for a cycle at run time', () => {
    const files = {
      'core/a.ts': `import { b } from './b.ts'`,
      'core/b.ts': `import { c } from './c.ts'`,
      'core/c.ts': `import { type A } from './a.ts'`,
    }
    expect(cyclesOf(files)).toEqual(['core/a.ts → core/b.ts → core/c.ts → core/a.ts'])
  })

  test('does not fire where types close the cycle, nor on two ways to one file', () => {
    const files = {
      'core/a.ts': `import { b } from './b.ts'\nimport { c } from './c.ts'`,
      'core/b.ts': `import { c } from './c.ts'`,
      'core/c.ts': `import type { A } from './a.ts'`,
    }
    expect(cyclesOf(files)).toEqual([])
  })
})

describe('an exception', () => {
  const rule = 'no any, !, enum or default export'
  const violations = violationsIn([parse('core/a.ts', 'let a: any')])
  const exception = { rule, path: 'core/a.ts', subject: 'any', reason: 'an example' }

  test('excuses its breach', () => {
    expect(judge(violations, [exception])).toEqual({ breaches: [], stale: [] })
  })

  test('that excuses nothing is stale', () => {
    const other = { ...exception, path: 'core/b.ts' }
    expect(judge(violations, [other])).toEqual({
      breaches: [`src/core/a.ts:1 ${rule}: any`],
      stale: [other],
    })
  })
})
