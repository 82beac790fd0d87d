/**
 * One server at a time owns a data directory: its database, its provider's ledger, its mailbox. Who
 * comes later is a guest: it uses what the owner runs, and ends with it.
 *
 * The lock is a file that names a port of the owner. Whoever answers there with the token of the file
 * is alive; a connection that stays open is how guests learn of the owner's end.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** The lock as the owner has it. */
export interface Ownership<Shared> {
  readonly role: 'owner'
  /** Tells guests, also those to come, what they may use. */
  share(shared: Shared): void
  release(): Promise<void>
}

/** The lock as others have it. */
export interface Visit<Shared> {
  readonly role: 'guest'
  /** Process id of the owner. */
  readonly pid: number
  readonly shared: Shared
  /** Resolves when the owner has ended. */
  readonly ended: Promise<void>
  leave(): void
}

interface LockFile {
  readonly pid: number
  readonly port: number
  readonly token: string
}

/** How often the lock is looked at again when others come and go at the same time. */
const LOOKS_MAX = 20

/** How long an owner may take to say who it is, in milliseconds. */
const ANSWER_MS_MAX = 2000

/**
 * Takes the lock of a directory, or visits who has it. Does not say more of `Shared` than that it is
 * JSON: owner and guest run the same program.
 */
export async function claimData<Shared>(
  directory: string,
): Promise<Ownership<Shared> | Visit<Shared>> {
  await mkdir(directory, { recursive: true })
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const visit = await visitData<Shared>(directory)
    if (visit !== undefined) return visit
    const ownership = await own<Shared>(directory)
    if (ownership !== undefined) return ownership
  }
  throw new Error(`The lock of ${directory} can not be had.`)
}

/** Visits the owner of a directory; `undefined` if it has none. A lock left behind is removed. */
export async function visitData<Shared>(directory: string): Promise<Visit<Shared> | undefined> {
  const path = lockPath(directory)
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  // Written by `own`, whole.
  const { pid, port, token } = JSON.parse(text) as LockFile
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  const lines = linesOf(socket)
  if ((await within(ANSWER_MS_MAX, lines.next())) !== token) {
    socket.destroy()
    await removeStale(path, text)
    return undefined
  }
  const line = await lines.next()
  if (line.done) return undefined
  return {
    ...{ role: 'guest', pid, leave: () => void socket.destroy() },
    // What the owner shares, by its own `share`.
    shared: JSON.parse(line.value) as Shared,
    ended: lines.next().then(() => {}),
  }
}

/** The lines of a connection, until it ends, in whatever way. */
async function* linesOf(socket: Socket): AsyncGenerator<string, void> {
  let rest = ''
  try {
    for await (const chunk of socket) {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch {
    // Refused or reset: there is nobody, or there no longer is.
  }
}

async function within(
  ms: number,
  line: Promise<IteratorResult<string, void>>,
): Promise<string | undefined> {
  const late = new AbortController()
  const timeout = delay(ms, undefined, { signal: late.signal }).catch(() => undefined)
  const first = await Promise.race([line, timeout])
  late.abort()
  return first?.done === false ? first.value : undefined
}

async function own<Shared>(directory: string): Promise<Ownership<Shared> | undefined> {
  const path = lockPath(directory)
  const token = randomBytes(16).toString('hex')
  const guests = new Set<Socket>()
  let shared: string | undefined
  const server = createServer((socket) => {
    guests.add(socket.on('error', () => {}).once('close', () => guests.delete(socket)))
    socket.write(`${token}\n${shared ?? ''}`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const mine = `${path}.${token}`
  await writeFile(mine, JSON.stringify({ pid: process.pid, port: portOf(server), token }))
  try {
    await link(mine, path)
  } catch (error) {
    server.close()
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
    throw error
  } finally {
    await rm(mine, { force: true })
  }
  return {
    role: 'owner',
    share(what) {
      shared = `${JSON.stringify(what)}\n`
      for (const guest of guests) guest.write(shared)
    },
    async release() {
      await rm(path, { force: true })
      for (const guest of guests) guest.destroy()
      server.close()
    },
  }
}

/** Removes a lock whose owner is dead, unless somebody has just done so and put up another. */
async function removeStale(path: string, text: string): Promise<void> {
  const aside = `${path}.stale.${randomBytes(8).toString('hex')}`
  try {
    await rename(path, aside)
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, path)
  } catch {
    // Somebody else was faster.
  }
  await rm(aside, { force: true })
}

function lockPath(directory: string): string {
  return join(directory, 'lock')
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The lock has no port.')
  return address.port
}
