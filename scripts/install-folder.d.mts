/** The packages could not be installed; the message says why. */
export class NotInstalled extends Error {}

/** What else belongs to an installation. */
export interface InstallOptions {
  /** Does it, below `node_modules` of the folder that it is given. */
  readonly prepare?: (folder: string) => void | Promise<void>
  /** Files beside the lock file that `prepare` depends on. */
  readonly also?: readonly string[]
}

/**
 * Installs the packages of a folder that has a lock file of its own, unless they are there.
 *
 * @throws NotInstalled where a package is neither in npm's cache nor can be fetched
 */
export function installFolder(folder: string, options?: InstallOptions): Promise<void>
