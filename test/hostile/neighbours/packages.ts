/**
 * The packages of this folder, which are installed when the first test needs them.
 *
 * @module
 */

import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { installFolder, NotInstalled } from '../../../scripts/install-folder.mjs'

/**
 * What a package exports. Their types are not there when the types of the repository are checked, so
 * whatever it makes fits everywhere.
 */
export type Make = (...args: readonly unknown[]) => never

/** Installs the packages, unless they are there; says why not, where they cannot be. */
export async function missingPackages(): Promise<string | undefined> {
  try {
    await installFolder(import.meta.dirname)
    return undefined
  } catch (error) {
    if (error instanceof NotInstalled) return error.message
    throw error
  }
}

const resolve = createRequire(import.meta.url).resolve

/** Loads what a package exports under a name. */
export async function load(name: string, member = 'default'): Promise<Make> {
  const module: unknown = await import(pathToFileURL(resolve(name)).href)
  if (typeof module !== 'object' || module === null) throw new TypeError(`${name} exports nothing`)
  const found: unknown = Reflect.get(module, member)
  if (typeof found !== 'function') throw new TypeError(`${name} has no ${member}`)
  // Whoever loads it knows what it takes and makes.
  return found as Make
}
