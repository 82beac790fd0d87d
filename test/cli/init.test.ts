import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { cli, project } from './harness.ts'

const exported: readonly string[] = Object.keys(
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).exports,
)

function manifest(dependencies: readonly string[], more: object = {}): string {
  return JSON.stringify({
    ...more,
    dependencies: Object.fromEntries(dependencies.map((name) => [name, '*'])),
  })
}

/** Every file below a folder, by its path. */
function filesIn(folder: string): Readonly<Record<string, string>> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name))
  return Object.fromEntries(
    paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  )
}

describe('C-25 init', () => {
  test.each([
    ['express', 'express', []],
    ['fastify', 'fastify', []],
    ['hono', 'hono', []],
    ['koa', 'koa', []],
    ['@nestjs/core', 'nest', []],
    ['next', 'next', ['react']],
    ['left-pad', 'node', []],
  ])('C-25 %s: writes files for %s that name what there is', async (name, framework, others) => {
    for (const more of [{}, { type: 'module' }]) {
      const cwd = project({ 'package.json': manifest([name, ...others], more) })
      const { exit, document } = await cli(['init', '--json'], { cwd })
      expect([exit, document['framework']]).toEqual([0, framework])
      const files = filesIn(cwd)
      const engine = files['reprise.js'] ?? ''
      for (const [, path = ''] of engine.matchAll(/'reprise(\/[\w/-]+)?'/g))
        expect(exported).toContain(`.${path}`)
      for (const path of ['reprise.js', 'reprise.config.mjs', 'reprise.config.js']) {
        const { diagnostics } = ts.transpileModule(files[path] ?? '', { reportDiagnostics: true })
        expect(diagnostics).toEqual([])
      }
      expect(engine.includes('require(')).toBe(!('type' in more))
      expect(Object.keys(files)).toContain('migrations/reprise.sql')
      const steps = document['nextSteps'] as string[]
      expect(steps.length).toBeLessThanOrEqual(5)
      expect(steps.at(-1)).toContain('curl ')
    }
  })

  test.each([
    ['drizzle-orm', /^drizzle\/reprise\.sql$/],
    ['@prisma/client', /^prisma\/migrations\/\d{14}_reprise\/migration\.sql$/],
    ['kysely', /^migrations\/\d{14}_reprise\.mjs$/],
    ['knex', /^migrations\/\d{14}_reprise\.mjs$/],
    ['node-pg-migrate', /^migrations\/\d{14}_reprise\.mjs$/],
  ])('C-23 C-25 %s gets its migration where the tool looks, once', async (name, where) => {
    const cwd = project({ 'package.json': manifest(['express', name]) })
    await cli(['init'], { cwd })
    const first = filesIn(cwd)
    expect(Object.keys(first).filter((path) => where.test(path))).toHaveLength(1)
    const later = { now: () => 0, after: () => () => {}, unix: () => 4_102_444_800_000 }
    const again = await cli(['init'], { cwd, clock: later })
    expect(again.stdout).toContain('Nothing to do.')
    expect(filesIn(cwd)).toEqual(first)
  })

  test('C-25 finds package manager, language and driver', async () => {
    const files = {
      'package.json': manifest(['hono', 'postgres', 'typescript']),
      'pnpm-lock.yaml': '',
      'src/a.ts': '',
    }
    const cwd = project(files)
    const { document } = await cli(['init', '--json'], { cwd })
    expect(document).toMatchObject({
      packageManager: 'pnpm',
      isTypeScript: true,
      driver: 'postgres',
    })
    expect(existsSync(join(cwd, 'src/reprise.ts'))).toBe(true)
    expect((document['nextSteps'] as string[])[0]).toBe('pnpm add reprise')
  })

  test('C-25 protects in transactions, unless those of an ORM are needed, and says so', async () => {
    const engineOf = async (...names: string[]) => {
      const cwd = project({ 'package.json': manifest(['express', ...names], { type: 'module' }) })
      const { document } = await cli(['init', '--json'], { cwd })
      const steps = (document['nextSteps'] as string[]).join('\n')
      return { engine: filesIn(cwd)['reprise.js'] ?? '', steps }
    }
    const plain = await engineOf()
    expect(plain.engine).toMatch(/^ {2}transaction: true,$/m)
    expect(plain.steps).toContain('tx(req)')
    for (const name of ['drizzle-orm', '@prisma/client', 'kysely', 'knex', 'typeorm']) {
      const { engine, steps } = await engineOf(name)
      expect(engine).not.toMatch(/^ {2}transaction: true,$/m)
      expect(engine).toMatch(/transactions: \w+Transactions\(\w+\)/)
      expect(steps).toContain('comment in the module on transactions')
    }
  })

  test('C-25 --dry-run shows the plan and writes nothing', async () => {
    const cwd = project({ 'package.json': manifest(['express']) })
    const { stderr, stdout } = await cli(['init', '--dry-run'], { cwd })
    expect(stderr).toContain('+ const { idempotent, txOf } = require')
    expect(stdout).toContain('Would write 3 files.')
    expect(Object.keys(filesIn(cwd))).toEqual(['package.json'])
  })

  test('C-25 C-04 overwrites nothing without --force, and then asks', async () => {
    const cwd = project({ 'package.json': manifest(['express']), 'reprise.js': '// mine\n' })
    const kept = await cli(['init'], { cwd })
    expect(kept.stderr).toContain('keep   reprise.js')
    expect(filesIn(cwd)['reprise.js']).toBe('// mine\n')
    const refused = await cli(['init', '--force'], { cwd })
    expect([refused.exit, refused.stderr.includes('--yes')]).toEqual([6, true])
    expect(filesIn(cwd)['reprise.js']).toBe('// mine\n')
    const forced = await cli(['init', '--force'], { cwd, typed: ['yes'] })
    expect([forced.exit, forced.asked.length]).toEqual([0, 1])
    expect(filesIn(cwd)['reprise.js']).toContain('createReprise')
  })

  test('C-25 without a package.json it says what to do', async () => {
    const { exit, stderr } = await cli(['init'])
    expect([exit, stderr.includes('npm init')]).toEqual([2, true])
  })
})
