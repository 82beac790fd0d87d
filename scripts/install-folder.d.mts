/** What an installation consists of, beside the packages. */
export interface InstallOptions {
  /** Does what else belongs to the installation, below `node_modules` of the folder that it is given. */
  readonly prepare?: (folder: string) => void | Promise<void>
  /** Files beside the lock file that `prepare` depends on, by their names in the folder. */
  readonly also?: readonly string[]
}

/** The packages could not be installed; the message says why. */
export class NotInstalled extends Error {}

/**
 * Installs the packages of `folder`, unless they are there.
 *
 * @throws NotInstalled where a package is neither in npm's cache nor can be fetched
 */
export function installFolder(folder: string, options?: InstallOptions): Promise<void>
