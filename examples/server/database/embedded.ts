/**
 * The real PostgreSQL that comes in an npm package, with data that stays.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, startGuarded } from '../../../scripts/servers/guarded.ts'
import { query } from '../../../scripts/servers/postgres.ts'
import { npmPrograms, unprivileged } from '../../../scripts/servers/postgres-programs.ts'
import type { Database } from './database.ts'
import { endOrphan } from './orphan.ts'

const run = promisify(execFile)

/** Connections: the API, its spare, workers that run alone, and a person with psql. */
const CONNECTIONS_MAX = 200

/**
 * Starts PostgreSQL on the data in `directory`, which is made the first time. It ends with this
 * process, by whatever signal that ends. Whoever calls this has the lock of the directory.
 *
 * @throws Error with the reason why it can not be had
 */
export async function startEmbedded(directory: string): Promise<Database> {
  const home = await makeHome(directory)
  const programs = await npmPrograms(home)
  const data = join(home, 'data')
  await endOrphan(data)
  await makeData(home, join(programs, 'initdb'))

  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = [
    ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`],
    `max_connections=${CONNECTIONS_MAX}`,
  ].flatMap((setting) => ['-c', setting])
  const stop = await startGuarded({
    commands: [[join(programs, 'postgres'), '-D', data, ...settings]],
    ...{ directory: home, isKept: true, user: unprivileged() },
    // Fast shutdown: ends connections, writes everything out.
    stopSignal: 'SIGINT',
    probe: () => query(url, 'select 1'),
  })
  return { url, hasSessions: true, what: `PostgreSQL from npm, data in ${home}`, stop }
}

/**
 * The folder of everything of PostgreSQL's, owned by who runs it. Where that user may not go, such as
 * below root's home, another one is made and remembered.
 */
async function makeHome(directory: string): Promise<string> {
  const own = join(directory, 'postgres')
  await mkdir(own, { recursive: true })
  if (process.getuid?.() !== 0) return own
  await chmod(directory, 0o711)
  await give(own)
  if (await mayEnter(own)) return own

  const note = join(directory, 'postgres-is-in')
  const noted = (await readFile(note, 'utf8').catch(() => '')).trim()
  if (noted !== '' && (await mayEnter(noted))) return noted
  const other = await mkdtemp(join(tmpdir(), 'reprise-postgres-'))
  await give(other)
  await writeFile(note, `${other}\n`)
  return other
}

async function give(path: string): Promise<void> {
  const { uid, gid } = unprivileged()
  if (uid !== undefined && gid !== undefined) await chown(path, uid, gid)
}

async function mayEnter(path: string): Promise<boolean> {
  return run('ls', [path], unprivileged()).then(
    () => true,
    () => false,
  )
}

/** Makes the data once; one that was interrupted leaves nothing that could be taken for it. */
async function makeData(home: string, initdb: string): Promise<void> {
  const names = await readdir(home)
  for (const name of names.filter((name) => name.startsWith('data.'))) {
    await rm(join(home, name), { recursive: true, force: true })
  }
  if (names.includes('data')) return
  const fresh = join(home, `data.${process.pid}`)
  const options = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale']
  await run(initdb, ['-D', fresh, ...options], { cwd: home, ...unprivileged() })
  await rename(fresh, join(home, 'data'))
}
