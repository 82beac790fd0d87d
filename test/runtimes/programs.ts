/**
 * Where the runtimes are: the variable that is named like it, else the search path, else npm.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** A runtime other than Node. */
export type RuntimeName = 'bun' | 'deno' | 'workerd'

/** Where its program is, or why it cannot be had. */
export type Program = { readonly path: string } | { readonly missing: string }

/** Where the packages have their programs. There are others for other machines, which nobody has tried. */
const PLACES: Readonly<Record<RuntimeName, string>> = {
  bun: '@oven/bun-linux-x64/bin/bun',
  deno: '@deno/linux-x64-glibc/deno',
  workerd: '@cloudflare/workerd-linux-64/bin/workerd',
}

const INSTALL = join(import.meta.dirname, '../../scripts/install-folder.mjs')

/** Finds a runtime, and installs it where it is not there. */
export async function programOf(name: RuntimeName): Promise<Program> {
  const variable = name.toUpperCase()
  const named = process.env[variable]
  if (named !== undefined) {
    return existsSync(named) ? { path: named } : { missing: `${variable} names no file: ${named}` }
  }
  const folders = process.env['PATH']?.split(delimiter) ?? []
  const found = folders.map((folder) => join(folder, name)).find(isProgram)
  if (found !== undefined) return { path: found }
  const path = join(import.meta.dirname, 'node_modules', PLACES[name])
  try {
    await promisify(execFile)(process.execPath, [INSTALL, import.meta.dirname])
  } catch (error) {
    return { missing: `${name} is not on the path, and ${reasonOf(error)}` }
  }
  if (existsSync(path)) return { path }
  const machine = `${process.platform} ${process.arch}`
  return {
    missing: `no package of ${name} for ${machine} is pinned; ${variable} may name where it is`,
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** What the program that installs has to say. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'stderr' in error) return String(error.stderr).trim()
  return String(error)
}
