/**
 * What `reprise init` would write, and what stands there already.
 *
 * @module
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { migrations } from '../../stores/postgres/migrations/index.ts'
import { exportMigrations } from '../export-migrations.ts'
import { CONFIG_NAMES } from '../project.ts'
import type { ProjectKind } from './detect.ts'
import { configModule, engineModule } from './templates.ts'

/** One file. */
export interface PlannedFile {
  /** Relative to the project. */
  readonly path: string
  readonly content: string
  /** What stands there: nothing, the same, or something else. */
  readonly found: 'nothing' | 'same' | 'other'
  /** What stands there, for the comparison. */
  readonly old: string | null
}

/** Where the plan is for. */
export interface PlanOptions {
  readonly cwd: string
  readonly schema: string
  /** Milliseconds since 1970, for tools whose files have a time in their names. */
  readonly now: number
}

/** The files for a project. */
export function planFiles(kind: ProjectKind, options: PlanOptions): readonly PlannedFile[] {
  const { cwd } = options
  const files = [configFile(kind, options), engineFile(kind, options), migrationFile(kind, options)]
  return files.map(({ path, content }) => {
    const whole = join(cwd, path)
    const old = existsSync(whole) ? readFileSync(whole, 'utf8') : null
    return {
      path,
      content,
      old,
      found: old === null ? 'nothing' : old === content ? 'same' : 'other',
    }
  })
}

/** Writes a file, with the folders above it. */
export function writeFile(cwd: string, { path, content }: PlannedFile): void {
  const whole = join(cwd, path)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, content)
}

interface Draft {
  readonly path: string
  readonly content: string
}

/** A configuration that is there already, by whatever name, is the one. */
function configFile(kind: ProjectKind, { cwd, schema }: PlanOptions): Draft {
  const { isTypeScript, isModule, loadsTypeScript } = kind
  const there = CONFIG_NAMES.find((name) => existsSync(join(cwd, name)))
  const fresh = isTypeScript && loadsTypeScript ? 'ts' : isModule ? 'js' : 'mjs'
  const path = there ?? `reprise.config.${fresh}`
  return { path, content: configModule(schema, path.endsWith('.cjs')) }
}

function engineFile(kind: ProjectKind, { schema }: PlanOptions): Draft {
  const extension = kind.isTypeScript ? 'ts' : 'js'
  const path = `${kind.hasSrc ? 'src/' : ''}reprise.${extension}`
  return { path, content: engineModule(kind, schema) }
}

const FOLDERS = {
  ...{ drizzle: 'drizzle', prisma: 'prisma/migrations', kysely: 'migrations', knex: 'migrations' },
  ...{ 'node-pg-migrate': 'migrations', sql: 'migrations' },
} as const

function migrationFile({ migrationTool, isModule }: ProjectKind, options: PlanOptions): Draft {
  const { cwd, schema, now } = options
  const to = migrations(schema).at(-1)?.number ?? 0
  const content = `${exportMigrations(migrationTool, schema, { from: 0, to }).trimEnd()}\n`
  const folder = FOLDERS[migrationTool]
  const stamp = new Date(now).toISOString().replaceAll(/\D/g, '').slice(0, 14)
  // A migration of an earlier run is the one, whatever the time.
  const there = existsSync(join(cwd, folder))
    ? readdirSync(join(cwd, folder)).find((name) => /(^|_)reprise(\.\w+)?$/.test(name))
    : undefined
  const extension = isModule ? 'js' : 'mjs'
  const names = {
    ...{ drizzle: 'reprise.sql', sql: 'reprise.sql', prisma: `${stamp}_reprise` },
    ...{ kysely: `${stamp}_reprise.${extension}`, knex: `${stamp}_reprise.${extension}` },
    'node-pg-migrate': `${stamp}_reprise.${extension}`,
  }
  const name = there ?? names[migrationTool]
  const inner = migrationTool === 'prisma' ? '/migration.sql' : ''
  return { path: `${folder}/${name}${inner}`, content }
}
