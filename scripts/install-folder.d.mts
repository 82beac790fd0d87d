/** Files, commands and variables of an installation. */
export interface InstallOptions {
  readonly files?: readonly string[]
  readonly finish?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

export function installFolder(folder: string, options?: InstallOptions): Promise<boolean>
