import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from 'redis'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { freePort, startGuarded } from '../../scripts/servers/guarded.ts'
import { startNats } from '../../scripts/servers/nats.ts'
import { query, startPostgres } from '../../scripts/servers/postgres.ts'
import { startRabbitmq } from '../../scripts/servers/rabbitmq.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { notRun } from './not-run.ts'
import { reportNotRun } from './not-run-report.ts'
import { temporaryDatabase } from './postgres.ts'
import { deletePrefix, redisUrl, temporaryPrefix } from './redis.ts'
import { dropOrphans, markAlive } from './run-databases.ts'

const redis = redisUrl()

/** A busy machine is no bug. */
const PATIENCE = { timeout: 90_000 }

describe('a temporary database', () => {
  test('is empty, takes tables and is gone after the drop, with who is connected', async () => {
    const database = await temporaryDatabase()
    await query(database.url, 'create table t ()')
    expect((await query(database.url, 'select * from t')).rowCount).toBe(0)
    expect(new URL(database.url).pathname).toMatch(/^\/reprise_test_/)

    await database.drop()
    await expect(query(database.url, 'select 1')).rejects.toThrow('does not exist')
  })
})

describe('the databases of another run', () => {
  test('stay while its process lives, wherever that is, and are dropped when it is gone', async () => {
    const { url } = inject('postgres')
    const prefix = `reprise_test_1_${randomBytes(4).toString('hex')}_`
    const names = async () => {
      const { rows } = await query(url, 'select datname from pg_database')
      return rows.map(({ datname }) => datname)
    }
    const mark = await markAlive(url, prefix)
    await query(url, `create database ${prefix}0a template template0`)
    await dropOrphans(url)
    expect(await names()).toContain(`${prefix}0a`)

    await mark.end()
    await vi.waitFor(async () => {
      await dropOrphans(url)
      expect(await names()).not.toContain(`${prefix}0a`)
    }, PATIENCE)
  })
})

describe('PostgreSQL', () => {
  test('is the one that DATABASE_URL names, before any other', async () => {
    const url = 'postgres://somebody@somewhere/something'
    expect(await startPostgres({ DATABASE_URL: url })).toMatchObject({ url })
  })

  test('that can not be had is reported with the reason of every source', async () => {
    await expect(startPostgres({ REPRISE_POSTGRES: 'nowhere' })).rejects.toThrow('nowhere: none')
  })

  test('from npm comes up, takes 200 connections and leaves nothing behind', async () => {
    const server = await startPostgres({ REPRISE_POSTGRES: 'npm' })
    const { rows } = await query(
      server.url,
      `select current_setting('max_connections')::int as most,
              current_setting('data_directory') as directory`,
    )
    expect(rows[0].most).toBeGreaterThanOrEqual(200)

    await server.stop()
    await expect(query(server.url, 'select 1')).rejects.toThrow('ECONNREFUSED')
    expect(existsSync(rows[0].directory)).toBe(false)
  })
})

describe('Redis', () => {
  test('is the one that REDIS_URL names, before any other', async () => {
    const url = 'redis://somewhere'
    expect(await startRedis({ REDIS_URL: url })).toMatchObject({ url })
  })

  test('is missing, in words, where none runs and none is installed', async () => {
    const found = await startRedis({ REPRISE_REDIS: 'installed', PATH: tmpdir() })
    expect(found).toEqual({ missing: expect.stringContaining('no Redis server was found') })
  })

  test.skipIf(redis === undefined)('loses the keys of a prefix, and only those', async () => {
    const client = createClient({ url: redis ?? '' })
    await client.connect()
    const [mine, other] = [temporaryPrefix(), temporaryPrefix()]
    onTestFinished(async () => {
      await deletePrefix(other)
      client.destroy()
    })
    await client.mSet([`${mine}{a}`, '1', `${mine}b`, '2', `${other}a`, '3'])

    await deletePrefix(mine)
    expect(await client.mGet([`${mine}{a}`, `${mine}b`, `${other}a`])).toEqual([null, null, '3'])
  })
})

describe.each([
  ['NATS', startNats, 'NATS_URL', 'REPRISE_NATS'],
  ['RabbitMQ', startRabbitmq, 'RABBITMQ_URL', 'REPRISE_RABBITMQ'],
] as const)('%s', (name, start, urlVariable, orderVariable) => {
  test('is the one that the environment names, before any other', async () => {
    const url = 'somewhere'
    expect(await start({ [urlVariable]: url })).toMatchObject({ url })
  })

  test('is missing, in words, where none runs and none is installed', async () => {
    const found = await start({ [orderVariable]: 'none' })
    expect(found).toEqual({ missing: expect.stringContaining(`no ${name} server was found`) })
  })

  test('that is installed comes up, and leaves nothing behind', async () => {
    const { PATH } = process.env
    const server = await start({ PATH, [orderVariable]: 'installed' })
    if ('missing' in server) {
      return void notRun({ suite: `support.test.ts ${name}`, reason: server.missing })
    }
    expect(server.origin).toBe('installed')
    const port = Number(new URL(server.url).port)
    ;(await connected(port)).destroy()
    await server.stop()
    await expect(connected(port)).rejects.toThrow('ECONNREFUSED')
  })
})

describe('a free port', () => {
  test('is not one that the system gives to outgoing connections, nor one that is listened on', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, freePort))
    expect(ports.filter((port) => port < 1024 || port >= 32_768)).toEqual([])
    const server = createServer().listen(ports[0], '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })

  test('is given once, in every process', async () => {
    const here = await Promise.all(Array.from({ length: 200 }, freePort))
    expect(new Set(here).size).toBe(200)
    const bind = `const s = require('dgram').createSocket('udp4')
      s.on('error', (error) => console.log(error.code)).bind({ port: ${here[0]}, address: '127.0.0.1', exclusive: true })`
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', bind])
    expect(stdout.trim()).toBe('EADDRINUSE')
  })
})

describe('a guarded server', () => {
  const listen = (port: number) =>
    `process.on('SIGTERM', () => process.exit()); require('net').createServer().listen(${port}, '127.0.0.1')`

  test('ends, and its directory goes, when the process that asked for it is killed', async () => {
    const [directory, port] = [await temporaryDirectory(), await freePort()]
    const order = {
      commands: [[process.execPath, '-e', listen(port)]],
      directory,
      user: {},
      stopSignal: 'SIGTERM',
    }
    const guardian = join(import.meta.dirname, '../../scripts/servers/guardian.mjs')
    const asking = spawn(process.execPath, [
      '-e',
      `const { spawn } = require('child_process')
       spawn(process.execPath, ${JSON.stringify([guardian, JSON.stringify(order)])},
         { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })`,
    ])
    onTestFinished(() => void asking.kill('SIGKILL'))
    const connection = await vi.waitFor(() => connected(port), PATIENCE)

    asking.kill('SIGKILL')
    await once(connection.resume(), 'close')
    await vi.waitUntil(() => !existsSync(directory), PATIENCE)
  })

  test('that does not come up fails with what it said', async () => {
    const directory = await temporaryDirectory()
    const started = startGuarded({
      commands: [[process.execPath, '-e', 'console.log("no room"); process.exit(3)']],
      directory,
      user: {},
      stopSignal: 'SIGTERM',
      probe: () => Promise.reject(new Error('not up')),
    })
    await expect(started).rejects.toThrow('no room')
    expect(existsSync(directory)).toBe(false)
  })

  test('that can not be started at all fails with the reason', async () => {
    const started = startGuarded({
      commands: [[join(tmpdir(), 'no-such-program')]],
      directory: await temporaryDirectory(),
      user: {},
      stopSignal: 'SIGTERM',
      probe: () => Promise.reject(new Error('not up')),
    })
    await expect(started).rejects.toThrow('ENOENT')
  })
})

describe('the list of what did not run', () => {
  const line = (suite: string, allowedInCi: boolean) =>
    `${JSON.stringify({ suite, reason: 'because', allowedInCi })}\n`

  async function report(text: string, ci: boolean) {
    const directory = await temporaryDirectory()
    const file = join(directory, 'not-run')
    await writeFile(file, text)
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => error.mockRestore())
    const fails = await reportNotRun(file, ci)
    return { fails, printed: error.mock.calls.flat().join('\n') }
  }

  test('names each suite once, with its reason', async () => {
    const { printed } = await report(line('b', true) + line('a', false) + line('b', true), false)
    expect(printed).toBe('\nNOT RUN:\n  a: because\n  b: because')
  })

  test('fails the run in CI, and only there', async () => {
    expect((await report(line('a', false), true)).fails).toBe(true)
    expect((await report(line('a', false), false)).fails).toBe(false)
  })

  test('does not fail the run in CI for a declared limit', async () => {
    expect((await report(line('a', true), true)).fails).toBe(false)
  })

  test('is not printed when everything ran', async () => {
    expect(await report('', true)).toEqual({ fails: false, printed: '' })
  })
})

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'reprise-test-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

async function connected(port: number) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}
