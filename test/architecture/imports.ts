/**
 * Who may import whom.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import {
  type Breach,
  type Import,
  importsOf,
  lineOf,
  type Source,
  type Violation,
} from './source.ts'

/**
 * The layers, and what each one may import besides itself. Files directly in `src` are the layer
 * `index`. Nothing imports `cli` or `testing`; only `cli` imports `dashboard`.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  engine: ['core'],
  stores: ['core', 'engine'],
  phases: ['core', 'engine', 'stores'],
  workers: ['core', 'engine', 'stores', 'phases'],
  sinks: ['core', 'engine', 'phases', 'workers'],
  'error-pages': ['core'],
  adapters: ['core', 'engine', 'error-pages'],
  client: ['core'],
  telemetry: ['core', 'engine'],
  admin: ['core', 'engine', 'phases', 'telemetry'],
  dashboard: ['core', 'engine', 'error-pages', 'telemetry', 'admin'],
  index: ['core', 'engine', 'stores', 'phases'],
  testing: [
    'core',
    'engine',
    'stores',
    'phases',
    'workers',
    'adapters',
    'client',
    'admin',
    'index',
  ],
  cli: [
    ...['core', 'engine', 'stores', 'phases', 'workers', 'sinks', 'adapters', 'client'],
    ...['telemetry', 'admin', 'dashboard', 'index'],
  ],
}

const manifest: { readonly dependencies?: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)

/** Imports go one way, also for types. */
export function* direction(source: Source): Iterable<Breach> {
  const layer = layerOf(source.path)
  for (const { node, target } of importsOf(source)) {
    if (target === undefined) continue
    const allowed = layerOf(target) === layer || LAYERS[layer]?.includes(layerOf(target))
    if (!allowed || !LAYERS[layer]) yield { node, subject: `${layer} imports ${target}` }
  }
}

/** What the folders of one layer share lies beside them: no store imports another store. */
export function* siblings(source: Source): Iterable<Breach> {
  for (const { node, target } of importsOf(source)) {
    if (target === undefined) continue
    const [from, to] = [storeOf(source.path), storeOf(target)]
    const within = layerOf(source.path) === 'stores' && to !== undefined
    if (within && from !== to) yield { node, subject: target }
  }
}

/** At run time only Node's own modules and declared dependencies; drivers only as types. */
export function* packages(source: Source): Iterable<Breach> {
  for (const { node, specifier, target, typeOnly } of importsOf(source)) {
    if (target !== undefined || typeOnly) continue
    const known = specifier.startsWith('node:') && isBuiltinAnywhere(specifier)
    if (!known && !isDependency(specifier)) yield { node, subject: specifier }
  }
}

/** Relative imports name the file, with its extension. */
export function* extensions(source: Source): Iterable<Breach> {
  for (const { node, specifier, target } of importsOf(source)) {
    if (target !== undefined && !specifier.endsWith('.ts')) yield { node, subject: specifier }
  }
}

/** No module needs itself at run time. Each cycle is reported once, at the import that closes it. */
export function cycles(sources: readonly Source[]): Violation[] {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const done = new Set<string>()
  const found: Violation[] = []

  function visit(source: Source, trail: readonly string[]): void {
    if (done.has(source.path)) return
    const path = [...trail, source.path]
    for (const edge of importsOf(source)) {
      const next = byPath.get(runtimeTarget(edge))
      if (next === undefined) continue
      const start = path.indexOf(next.path)
      if (start === -1) visit(next, path)
      else found.push(closing(source, edge, path.slice(start)))
    }
    done.add(source.path)
  }

  for (const source of sources) visit(source, [])
  return found
}

function closing({ path, tree }: Source, edge: Import, cycle: readonly string[]): Violation {
  const subject = [...cycle, cycle[0]].join(' → ')
  return { rule: 'no cycle', path, line: lineOf(edge.node, tree), subject }
}

function runtimeTarget({ target, typeOnly }: Import): string {
  return typeOnly ? '' : (target ?? '')
}

function layerOf(path: string): string {
  const [layer, rest] = path.split('/')
  return rest === undefined || layer === undefined ? 'index' : layer
}

/** The folder of a store, if the path is inside one. */
function storeOf(path: string): string | undefined {
  const [layer, folder, rest] = path.split('/')
  return layer === 'stores' && rest !== undefined ? folder : undefined
}

/** Newer versions of Node have modules that the running one lacks. */
function isBuiltinAnywhere(specifier: string): boolean {
  return isBuiltin(specifier) || specifier === 'node:sqlite'
}

function isDependency(specifier: string): boolean {
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
  return manifest.dependencies?.[name] !== undefined
}
