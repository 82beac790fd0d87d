/**
 * The project that the command is run in: its configuration, and the packages that are installed
 * there.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { RUN_NAMES } from '../core/known-options.ts'
import { closest } from '../core/suggest.ts'
import { CliError } from './errors.ts'

/** Names of the configuration, the first that exists counts. */
export const CONFIG_NAMES: readonly string[] = ['ts', 'mts', 'js', 'mjs', 'cjs', 'json'].map(
  (extension) => `reprise.config.${extension}`,
)

/** The project. */
export interface Project {
  readonly cwd: string
  /** What the configuration exports; empty without one. */
  readonly config: Readonly<Record<string, unknown>>
  /** Whole path of the configuration. */
  readonly configPath: string | undefined
  /** Why the configuration could not be read, for commands that go on without it. */
  readonly configError: CliError | undefined
}

/** The project without its configuration. */
export function bareProject(cwd: string): Project {
  return { cwd, config: {}, configPath: undefined, configError: undefined }
}

/** Finds and reads the configuration; what fails is kept in `configError`. */
export async function openProject(cwd: string, asked: string | undefined): Promise<Project> {
  const found = asked === undefined ? findConfig(cwd) : resolve(cwd, asked)
  if (found === undefined) return bareProject(cwd)
  try {
    const config = await readConfig(cwd, found)
    checkConfig(config, found)
    return { cwd, config, configPath: found, configError: undefined }
  } catch (error) {
    const configError = error instanceof CliError ? error : unreadable(found, error)
    return { cwd, config: {}, configPath: found, configError }
  }
}

/** What the configuration may hold: what flags, commands and `doctor` read. */
const CONFIG: readonly string[] = [
  ...['databaseUrl', 'schema', 'driver', 'connectTimeout', 'author', 'host', 'port'],
  // Those of runs are for `doctor`, which looks whether they go together.
  ...Object.keys(RUN_NAMES),
  ...['role', 'reprise', 'operations', 'sink', 'retryWindowMs'],
]

/** Refuses names that no command reads: a typing mistake would count for nothing without a word. */
function checkConfig(config: Readonly<Record<string, unknown>>, path: string): void {
  const unknown = Object.keys(config).find((name) => !CONFIG.includes(name))
  if (unknown === undefined) return
  const meant = closest(unknown, CONFIG)
  throw new CliError(
    'REPRISE_E_CONFIG',
    `${basename(path)} has \`${unknown}\`, which nothing reads.`,
    {
      hint: meant === undefined ? `It takes ${CONFIG.join(', ')}.` : `Did you mean \`${meant}\`?`,
    },
  )
}

function findConfig(cwd: string): string | undefined {
  return CONFIG_NAMES.map((name) => join(cwd, name)).find((path) => existsSync(path))
}

async function readConfig(cwd: string, path: string): Promise<Readonly<Record<string, unknown>>> {
  if (!existsSync(path)) {
    throw new CliError('REPRISE_E_CONFIG', `There is no ${path}.`, {
      hint: 'Name a file that exists with --config, or leave it out.',
    })
  }
  if (path.endsWith('.json')) return members(JSON.parse(readFileSync(path, 'utf8')), path)
  const loaded = members(await loadModule(cwd, path), path)
  const { default: whole, ...named } = loaded
  if (whole === undefined) return named
  // What was made CommonJS on the way has its default export one level further down.
  const { default: inner, ...own } = members(whole, path)
  return { ...named, ...own, ...(inner === undefined ? {} : members(inner, path)) }
}

/** Loads JavaScript, and TypeScript where Node or the project's own tsx can. */
async function loadModule(cwd: string, path: string): Promise<unknown> {
  const url = pathToFileURL(path).href
  const isTypeScript = /\.m?ts$/.test(path)
  if (!isTypeScript || readsTypeScript()) return import(url)
  const tsx = resolvePackage(cwd, 'tsx/esm/api')
  if (tsx === undefined) {
    throw new CliError(
      'REPRISE_E_CONFIG',
      `Node ${process.versions.node} can not read ${basename(path)}.`,
      {
        reason: 'Node reads TypeScript from version 22.18 on.',
        hint: 'Install tsx in the project, name the file reprise.config.js, or use a newer Node.',
      },
    )
  }
  // Found as `require` finds it, where it can not import; the module that can lies beside it.
  const module = pathToFileURL(tsx.replace(/\.cjs$/, '.mjs')).href
  // The interface of tsx: the same as `import`, with the file that it is relative to.
  const { tsImport } = (await import(module)) as {
    tsImport(specifier: string, parent: string): Promise<unknown>
  }
  return tsImport(url, import.meta.url)
}

function readsTypeScript(): boolean {
  return 'typescript' in process.features && process.features.typescript !== false
}

function members(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new CliError('REPRISE_E_CONFIG', `${basename(path)} exports no object.`, {
    hint: 'Export an object, such as { schema: "reprise" }.',
  })
}

function unreadable(path: string, cause: unknown): CliError {
  const message = cause instanceof Error ? cause.message : String(cause)
  return new CliError('REPRISE_E_CONFIG', `${basename(path)} can not be loaded: ${message}`, {
    ...{ cause, hint: 'Mend the file, or name another one with --config.' },
  })
}

/** Where a package of the project is, or one that came with this program; `undefined` for neither. */
function resolvePackage(cwd: string, name: string): string | undefined {
  for (const from of [join(cwd, 'package.json'), import.meta.url]) {
    try {
      return createRequire(from).resolve(name)
    } catch {
      // The next place may have it.
    }
  }
  return undefined
}

/** Whether a package can be loaded. */
export function hasPackage(cwd: string, name: string): boolean {
  return resolvePackage(cwd, name) !== undefined
}

/** Loads a package of the project, as the project would; `undefined` when it is not installed. */
export async function loadPackage(cwd: string, name: string): Promise<unknown> {
  const path = resolvePackage(cwd, name)
  return path === undefined ? undefined : import(pathToFileURL(path).href)
}

/** The project's package.json; empty without one. */
export function readManifest(cwd: string): Readonly<Record<string, unknown>> {
  const path = join(cwd, 'package.json')
  if (!existsSync(path)) return {}
  try {
    return members(JSON.parse(readFileSync(path, 'utf8')), path)
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** Which package manager the project uses, by its lock file. */
export function packageManagerOf(cwd: string): 'npm' | 'pnpm' | 'yarn' | 'bun' {
  const has = (...names: readonly string[]) => names.some((name) => existsSync(join(cwd, name)))
  if (has('pnpm-lock.yaml')) return 'pnpm'
  if (has('yarn.lock')) return 'yarn'
  return has('bun.lockb', 'bun.lock') ? 'bun' : 'npm'
}

/** How the project's package manager installs a package. */
export function installCommand(cwd: string, ...packages: readonly string[]): string {
  const manager = packageManagerOf(cwd)
  return `${manager} ${manager === 'npm' ? 'install' : 'add'} ${packages.join(' ')}`
}
