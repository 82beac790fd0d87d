/**
 * What kind of project this is.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { hasPackage, packageManagerOf, readManifest } from '../project.ts'

/** Frameworks that there is an adapter for, the more telling ones first. */
export const FRAMEWORKS = ['nest', 'next', 'fastify', 'hono', 'koa', 'express', 'node'] as const

/** A framework that there is an adapter for. */
export type Framework = (typeof FRAMEWORKS)[number]

/** Tools that bring migrations to the database, and `sql` for none. */
export const MIGRATION_TOOLS = [
  'drizzle',
  'prisma',
  'kysely',
  'knex',
  'node-pg-migrate',
  'sql',
] as const

/** A tool that brings migrations to the database. */
export type MigrationTool = (typeof MIGRATION_TOOLS)[number]

/** A project, as far as files for it depend on it. */
export interface ProjectKind {
  readonly packageManager: ReturnType<typeof packageManagerOf>
  readonly framework: Framework
  readonly migrationTool: MigrationTool
  /** Names of ORMs that are there, for people. */
  readonly orm: string | null
  readonly driver: 'pg' | 'postgres'
  readonly isTypeScript: boolean
  readonly isModule: boolean
  /** Whether sources lie in `src`. */
  readonly hasSrc: boolean
  /** Whether this Node can load TypeScript, or the project has tsx. */
  readonly loadsTypeScript: boolean
  /** Packages that are still to be installed. */
  readonly missing: readonly string[]
}

const FRAMEWORK_PACKAGES: readonly (readonly [name: string, framework: Framework])[] = [
  ['@nestjs/core', 'nest'],
  ['next', 'next'],
  ['fastify', 'fastify'],
  ['hono', 'hono'],
  ['koa', 'koa'],
  ['express', 'express'],
]

const TOOL_PACKAGES: readonly (readonly [name: string, tool: MigrationTool])[] = [
  ['drizzle-orm', 'drizzle'],
  ['@prisma/client', 'prisma'],
  ['prisma', 'prisma'],
  ['kysely', 'kysely'],
  ['knex', 'knex'],
  ['node-pg-migrate', 'node-pg-migrate'],
]

/** Looks at package.json, lock files and folders. */
export function detect(cwd: string): ProjectKind {
  const manifest = readManifest(cwd)
  const packages = new Set(
    ['dependencies', 'devDependencies'].flatMap((name) => namesIn(manifest[name])),
  )
  const find = <T>(table: readonly (readonly [string, T])[]) =>
    table.find(([name]) => packages.has(name))
  const [orm, migrationTool] = find(TOOL_PACKAGES) ?? [
    packages.has('typeorm') ? 'typeorm' : null,
    'sql' as const,
  ]
  const driver = !packages.has('pg') && packages.has('postgres') ? 'postgres' : 'pg'
  const isTypeScript = packages.has('typescript') || existsSync(join(cwd, 'tsconfig.json'))
  // postgres.js brings its types.
  const needed = ['reprise', driver, ...(isTypeScript && driver === 'pg' ? ['@types/pg'] : [])]
  return {
    ...{ packageManager: packageManagerOf(cwd), migrationTool, orm, driver },
    framework: find(FRAMEWORK_PACKAGES)?.[1] ?? 'node',
    isTypeScript,
    isModule: manifest['type'] === 'module',
    hasSrc: existsSync(join(cwd, 'src')),
    loadsTypeScript: packages.has('tsx') || readsTypeScript(),
    missing: needed.filter((name) => !packages.has(name) && !isThere(cwd, name)),
  }
}

function namesIn(group: unknown): readonly string[] {
  return typeof group === 'object' && group !== null ? Object.keys(group) : []
}

/** Installed, but in no list: linked, or in the folder above. */
function isThere(cwd: string, name: string): boolean {
  return existsSync(join(cwd, 'node_modules', name)) && hasPackage(cwd, name)
}

function readsTypeScript(): boolean {
  return 'typescript' in process.features && process.features.typescript !== false
}
