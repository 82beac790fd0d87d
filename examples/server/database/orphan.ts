/**
 * A PostgreSQL that outlived the server that started it, with the one that was to end it.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

/** How long it may take to end, in milliseconds. */
const END_MS_MAX = 20_000

/** Pause between two looks, in milliseconds. */
const LOOK_MS = 50

/**
 * Ends the PostgreSQL that still runs on `data`, if there is one. The caller has the lock of the data,
 * so whatever runs on it belongs to nobody.
 *
 * @throws Error when it does not end
 */
export async function endOrphan(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid')
  const pid = await pidIn(file)
  if (pid === undefined) return
  if (!(await isPostgres(pid))) {
    // The machine crashed, and the number now means another process or none.
    await rm(file, { force: true })
    return
  }
  for (let waitedMs = 0; waitedMs < END_MS_MAX; waitedMs += LOOK_MS) {
    // Fast shutdown first; half of the time later immediate shutdown, from which it recovers.
    if (waitedMs === 0) signal(pid, 'SIGINT')
    if (waitedMs === END_MS_MAX / 2) signal(pid, 'SIGQUIT')
    await delay(LOOK_MS)
    if ((await pidIn(file)) !== pid || !(await isPostgres(pid))) return
  }
  throw new Error(`PostgreSQL with process id ${pid} still runs on ${data} and does not end.`)
}

async function pidIn(file: string): Promise<number | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

async function isPostgres(pid: number): Promise<boolean> {
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(async () => {
    if (process.platform === 'linux') return ''
    const asked = promisify(execFile)('ps', ['-o', 'comm=', '-p', String(pid)])
    return asked.then(
      ({ stdout }) => stdout,
      () => '',
    )
  })
  return name.includes('postgres')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has just ended.
  }
}
