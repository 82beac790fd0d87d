/** A folder for a server, on a disk of its own where that is to be filled. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A disk, and the folder on it. */
export interface Disk {
  readonly folder: string
  /** Leaves no room on it. */
  fill(): Promise<void>
  /** Makes room again. */
  free(): Promise<void>
  remove(): Promise<void>
}

const run = promisify(execFile)
const SIZE = '320m'

/**
 * @param isSmall - whether it can be filled: a disk in memory, which takes the right to mount one
 */
export async function layDisk(isSmall: boolean): Promise<Disk> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-reality-'))
  const ballast = join(folder, 'ballast')
  if (isSmall) await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'tmpfs', folder])
  return {
    folder,
    async fill() {
      if (!isSmall) throw new Error('This disk is not one to be filled.')
      const { bavail, bsize } = await statfs(folder)
      await writeFile(ballast, Buffer.alloc(bavail * bsize)).catch(() => {})
    },
    free: () => rm(ballast, { force: true }),
    async remove() {
      if (isSmall) await run('umount', ['-l', folder])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
