import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { run, sendTask, serverOfTest, serving, temporaryData } from './reference-server.ts'

// Servers are started, some of them twice, on a machine that may be busy.
vi.setConfig({ testTimeout: 240_000 })

let database: TemporaryDatabase

beforeAll(async () => {
  database = await temporaryDatabase()
})
afterAll(() => database.drop())

describe('the server', () => {
  test('knows no faults and no ledger without REPRISE_DEMO', async () => {
    const server = await serverOfTest({ DATABASE_URL: database.url, REPRISE_DEMO: '0' })
    expect(server.printed()).not.toContain('/demo/')
    expect((await server.get('/demo/ledger')).status).toBe(404)
    expect((await server.get('/demo/provider')).status).toBe(404)
    const answer = await sendTask(server, 'no-demo-1', 'fail-before,crash=after-claim,nonsense')
    expect(answer.status).toBe(201)
  })

  test('sends charges and receipts where the environment says', async () => {
    const server = await serverOfTest({
      ...{ DATABASE_URL: database.url, SMTP_URL: 'smtp://mail.invalid:25' },
      STRIPE_API_BASE: 'http://127.0.0.1:9',
    })
    expect(server.printed()).toMatch(/payment provider +http:\/\/127\.0\.0\.1:9$/m)
    expect(server.printed()).toMatch(/receipts +to SMTP_URL$/m)
  })
})

describe('the port', () => {
  test('is the next free one when the default is in use, and that is said', async () => {
    const taken = createServer()
    const isTaken = once(taken, 'error').then(() => true)
    taken.listen(3000, '127.0.0.1')
    await Promise.race([isTaken, once(taken, 'listening')])
    onTestFinished(() => void taken.close())

    const env = { DATABASE_URL: database.url, REPRISE_DATA: await temporaryData() }
    const program = run('main.ts', env)
    onTestFinished(async () => {
      program.process.kill('SIGTERM')
      await program.exited
    })
    const url = new URL(await serving(program))
    expect(Number(url.port)).toBeGreaterThan(3000)
    expect(program.printed()).toContain(`Port 3000 is in use; this server takes ${url.port}.`)
    expect((await fetch(new URL('/health/live', url))).status).toBe(200)
  })

  test.each([
    [() => ({}), /^Port \d+ of 127\.0\.0\.1 is in use \(PORT=\d+\)/m],
    [() => ({ PORT: 'http' }), /^PORT is a number/m],
    [() => ({ PORT: '70000' }), /^PORT is a number/m],
    [() => ({ PORT: '0', HOST: '203.0.113.7' }), /^HOST=203\.0\.113\.7 can not be listened on/m],
    [() => ({ PORT: '0', DATABASE_URL: 'mysql://secret@x' }), /^DATABASE_URL is not a URL/m],
    [() => ({ PORT: '0', REPRISE_DATABASE: 'oracle' }), /^REPRISE_DATABASE is postgres or pglite/m],
  ])('and other settings that can not be are clear errors: %#', async (env, message) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const PORT = String(Object(taken.address()).port)
    const program = run('main.ts', {
      ...{ DATABASE_URL: database.url, PORT, REPRISE_DATA: await temporaryData() },
      ...env(),
    })
    expect(await program.exited).toBe(1)
    expect(program.printed()).toMatch(message)
    expect(program.printed()).not.toContain('secret')
    expect(program.printed()).not.toMatch(/^ +at /m)
  })

  test('a database that can not be used is a clear error, and nothing stays', async () => {
    const url = new URL(database.url)
    url.pathname = '/no_such_database'
    const env = { DATABASE_URL: url.href, PORT: '0', REPRISE_DATA: await temporaryData() }
    const program = run('main.ts', env)
    expect(await program.exited).toBe(1)
    expect(program.printed()).toContain('no_such_database')
  })
})
