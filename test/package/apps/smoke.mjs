/**
 * Runs inside an app that has the package installed: uses every package that the app has through
 * Reprise, and prints what came of each as JSON: `works`, or the code or text of the error.
 */

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createReprise } from 'reprise'
import { createClient } from 'reprise/client'
import { idempotent as onFetch, txOf } from 'reprise/fetch'
import { memoryStore } from 'reprise/memory'

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const { DATABASE_URL, REDIS_URL, RABBITMQ_URL, NATS_URL } = process.env
const caller = () => 'anyone'
const REQUEST = {
  method: 'POST',
  body: '{"a":1}',
  headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'k1' },
}

/** Sends one request twice: one effect, and the same answer again. */
async function twice(send) {
  const answers = []
  for (const expected of [null, 'true']) {
    const response = await send()
    const replayed = response.headers.get('Idempotent-Replayed')
    answers.push(await response.text())
    const isRight = response.status === 201 && replayed === expected
    if (!isRight) throw new Error(`${response.status}, replayed ${replayed}: ${answers.at(-1)}`)
  }
  if (answers[0] !== answers[1]) throw new Error(`It was answered ${answers.join(' and ')}.`)
}

const memory = () => createReprise({ store: memoryStore() })

/** Sends the request twice to a server of Node. */
async function overSocket(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await twice(() => fetch(`http://127.0.0.1:${server.address().port}/items/1`, REQUEST))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** Has a store keep an answer: of a handler under a lease, and in a transaction where there are some. */
async function throughStore(store, { write } = {}) {
  const reprise = createReprise({ store })
  let count = 0
  const answer = () => Response.json({ n: ++count }, { status: 201 })
  const request = () => new Request(`http://app/items/${store.name}`, REQUEST)
  try {
    await store.ready()
    const leased = onFetch(reprise, { caller, operation: 'leased' }, answer)
    await twice(() => leased(request()))
    if (write === undefined) return
    const options = { caller, operation: 'in one transaction', transaction: true }
    const committed = onFetch(reprise, options, async (asked) => {
      await write(txOf(asked))
      return answer()
    })
    await twice(() => committed(request()))
  } finally {
    await store.close()
  }
}

const job = () => ({ id: randomUUID(), name: 'receipt', args: { to: 'a' }, stagedAt: Date.now() })

async function throughSink(sink, delivery = {}) {
  const { signal } = new AbortController()
  const undelivered = await sink.deliver([job()], { signal, ...delivery })
  if (undelivered?.length) throw new Error(undelivered[0].error)
}

const schemaOf = (name) => ({ schema: name.replaceAll(/\W/g, '_') })

async function withPool(use) {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 5 })
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}

/** What a sink in the database is given. */
async function inTransaction(pool, use) {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    await use({ tx, within: (work) => work(tx) })
    await tx.query('commit')
  } finally {
    tx.release()
  }
}

/** A store whose transactions an ORM opens. */
async function throughOrm(name, transactionsOf, write) {
  const { postgresStore } = await import('reprise/postgres')
  await withPool(async (pool) => {
    const transactions = await transactionsOf(pool)
    await throughStore(postgresStore(pool, { transactions, ...schemaOf(name) }), { write })
  })
}

/** Sends through a client to a server that loses its first answer, and asks for a key. */
async function throughClient(use) {
  const keys = []
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key'])
    request.resume()
    if (keys.length === 1) return request.socket.destroy()
    response.writeHead(201, { 'Content-Type': 'application/json' }).end('{"id":"ch_1"}')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = createClient({ baseDelayMs: 1 })
  try {
    const data = await use(client, `http://127.0.0.1:${server.address().port}/`)
    const isOne = keys.length === 2 && keys[0] !== undefined && keys[0] === keys[1]
    if (!isOne || data.id !== 'ch_1')
      throw new Error(`${JSON.stringify(data)}, keys ${keys.join()}`)
  } finally {
    client.close()
    server.close()
  }
}

/** Ends a client of whichever version of redis. */
function endOf(client) {
  const name = ['destroy', 'disconnect', 'end'].find((one) => one in client)
  client[name](true)
}

/** How each package is used. */
const smokes = {
  async express() {
    const { default: express } = await import('express')
    const { idempotent } = await import('reprise/express')
    const app = express()
    let count = 0
    app.post('/items/:id', idempotent(memory(), { caller }), (_, response) => {
      response.status(201).json({ n: ++count })
    })
    await overSocket(createServer(app))
  },
  async fastify() {
    const { default: fastify } = await import('fastify')
    const { idempotency } = await import('reprise/fastify')
    const app = fastify()
    let count = 0
    await app.register(idempotency, { reprise: memory(), caller })
    app.post('/items/:id', async (_, reply) => {
      reply.code(201)
      return { n: ++count }
    })
    await app.ready()
    await overSocket(app.server)
  },
  async hono() {
    const { Hono } = await import('hono')
    const { idempotent } = await import('reprise/hono')
    const app = new Hono()
    let count = 0
    let thrown
    app.onError((error, c) => {
      thrown = error
      return c.text(error.message, 500)
    })
    app.use('*', idempotent(memory(), { caller }))
    app.post('/items/:id', (c) => c.json({ n: ++count }, 201))
    await twice(async () => {
      const response = await app.request('http://app/items/1', REQUEST)
      if (thrown !== undefined) throw thrown
      return response
    })
  },
  async koa() {
    const { default: Koa } = await import('koa')
    const { idempotent } = await import('reprise/koa')
    const app = new Koa()
    let count = 0
    app.use(idempotent(memory(), { caller }))
    app.use((ctx) => {
      ctx.status = 201
      ctx.body = { n: ++count }
    })
    const handle = app.callback()
    const server = createServer((request, response) => void handle(request, response))
    await overSocket(server)
  },
  async '@nestjs/common'() {
    await import('reflect-metadata')
    const { Controller, Module, Post } = await import('@nestjs/common')
    const { NestFactory } = await import('@nestjs/core')
    const { IdempotencyModule, Idempotent } = await import('reprise/nest')
    let count = 0
    class Items {
      create() {
        return { n: ++count }
      }
    }
    const method = Object.getOwnPropertyDescriptor(Items.prototype, 'create')
    for (const decorate of [Post('items/:id'), Idempotent()]) {
      decorate(Items.prototype, 'create', method)
    }
    Controller()(Items)
    class App {
      name = 'app'
    }
    const imports = [IdempotencyModule.forRoot({ reprise: memory(), caller })]
    Module({ controllers: [Items], imports })(App)
    const app = await NestFactory.create(App, { logger: false })
    await app.init()
    await overSocket(app.getHttpServer())
  },
  async pg() {
    const { postgresStore } = await import('reprise/postgres')
    const write = (tx) => tx.query('select 1')
    await withPool((pool) => throughStore(postgresStore(pool, schemaOf('pg')), { write }))
  },
  async postgres() {
    const { default: postgres } = await import('postgres')
    const { postgresStore } = await import('reprise/postgres')
    const sql = postgres(DATABASE_URL, { max: 3, onnotice: () => {} })
    const write = (tx) => tx.unsafe('select 1')
    try {
      await throughStore(postgresStore(sql, schemaOf('postgres_js')), { write })
    } finally {
      await sql.end({ timeout: 1 })
    }
  },
  async '@electric-sql/pglite'() {
    const { PGlite } = await import('@electric-sql/pglite')
    const { postgresStore } = await import('reprise/postgres')
    const db = new PGlite()
    try {
      const write = (tx) => tx.query('select 1')
      await throughStore(postgresStore(db), { write })
    } finally {
      await db.close()
    }
  },
  async 'drizzle-orm'() {
    const { drizzle } = await import('drizzle-orm/node-postgres')
    const { sql } = await import('drizzle-orm')
    const { drizzleTransactions } = await import('reprise/postgres/drizzle')
    const write = (tx) => tx.execute(sql`select 1`)
    await throughOrm('drizzle', (pool) => drizzleTransactions(drizzle(pool)), write)
  },
  async knex() {
    const { default: knex } = await import('knex')
    const { knexTransactions } = await import('reprise/postgres/knex')
    const db = knex({ client: 'pg', connection: DATABASE_URL })
    try {
      await throughOrm(
        'knex',
        () => knexTransactions(db),
        (tx) => tx.raw('select 1'),
      )
    } finally {
      await db.destroy()
    }
  },
  async kysely() {
    const { Kysely, PostgresDialect, sql } = await import('kysely')
    const { kyselyTransactions } = await import('reprise/postgres/kysely')
    const dbOf = (pool) => new Kysely({ dialect: new PostgresDialect({ pool }) })
    const write = (tx) => sql`select 1`.execute(tx)
    await throughOrm('kysely', (pool) => kyselyTransactions(dbOf(pool)), write)
  },
  async typeorm() {
    await import('reflect-metadata')
    const { DataSource } = await import('typeorm')
    const { typeormTransactions } = await import('reprise/postgres/typeorm')
    const source = await new DataSource({ type: 'postgres', url: DATABASE_URL }).initialize()
    try {
      await throughOrm(
        'typeorm',
        () => typeormTransactions(source),
        (tx) => tx.query('select 1'),
      )
    } finally {
      await source.destroy()
    }
  },
  async redis() {
    const { createClient: connect } = (await import('redis')).default
    const { redisStore } = await import('reprise/redis')
    const client = connect({ url: REDIS_URL })
    client.on('error', () => {})
    try {
      const store = () => redisStore(client, { prefix: `app:${randomUUID()}:`, onUnsafe: 'ignore' })
      // What can not work is refused before it is connected.
      await store().close()
      await client.connect()
      await throughStore(store())
    } finally {
      endOf(client)
    }
  },
  async ioredis() {
    const loaded = await import('ioredis')
    const { redisStore } = await import('reprise/redis')
    const client = new (loaded.Redis ?? loaded.default)(REDIS_URL)
    try {
      const prefix = `app:${randomUUID()}:`
      await throughStore(redisStore(client, { prefix, onUnsafe: 'ignore' }))
    } finally {
      client.disconnect()
    }
  },
  async libsql() {
    const { default: Database } = await import('libsql')
    const { sqliteStore } = await import('reprise/sqlite')
    const database = new Database('app.db')
    await throughStore(sqliteStore(database), { write: (tx) => tx.prepare('select 1').get() })
    database.close()
  },
  async bullmq() {
    const { Queue } = await import('bullmq')
    const { bullmqSink } = await import('reprise/sinks/bullmq')
    const { hostname: host, port } = new URL(REDIS_URL)
    const connection = { host, port: Number(port || 6379) }
    const queue = new Queue(`app-${randomUUID()}`, { connection })
    try {
      await throughSink(bullmqSink(queue))
      if ((await queue.getJobCounts()).waiting !== 1) throw new Error('No job waits.')
      await queue.obliterate({ force: true })
    } finally {
      await queue.close()
    }
  },
  async 'pg-boss'() {
    const { default: PgBoss } = await import('pg-boss')
    const { pgBossSink } = await import('reprise/sinks/pg-boss')
    const boss = new PgBoss({ connectionString: DATABASE_URL, supervise: false, schedule: false })
    boss.on('error', () => {})
    const sink = pgBossSink(boss)
    await boss.start()
    try {
      await boss.createQueue('receipt')
      await withPool((pool) => inTransaction(pool, (delivery) => throughSink(sink, delivery)))
    } finally {
      await boss.stop({ graceful: false, wait: true })
    }
  },
  async 'graphile-worker'() {
    const { Logger, runMigrations } = (await import('graphile-worker')).default
    const { graphileWorkerSink } = await import('reprise/sinks/graphile-worker')
    const logger = new Logger(() => () => {})
    await runMigrations({ connectionString: DATABASE_URL, logger })
    await withPool((pool) =>
      inTransaction(pool, (delivery) => throughSink(graphileWorkerSink(), delivery)),
    )
  },
  async amqplib() {
    const { connect } = (await import('amqplib')).default
    const { rabbitmqSink } = await import('reprise/sinks/rabbitmq')
    const connection = await connect(RABBITMQ_URL)
    const channel = await connection.createChannel()
    const { queue } = await channel.assertQueue('', { exclusive: false, autoDelete: true })
    const route = () => ({ exchange: '', routingKey: queue })
    const sink = rabbitmqSink(() => connect(RABBITMQ_URL), { route })
    try {
      await throughSink(sink)
      const message = await channel.get(queue, { noAck: true })
      if (String(message.content) !== '{"to":"a"}') throw new Error('Something else arrived.')
    } finally {
      await sink.close()
      await channel.deleteQueue(queue)
      await connection.close()
    }
  },
  async '@nats-io/jetstream'() {
    const { jetstream, jetstreamManager } = await import('@nats-io/jetstream')
    const { connect } = await import('@nats-io/transport-node')
    const { natsSink } = await import('reprise/sinks/nats')
    const connection = await connect({ servers: NATS_URL })
    const name = `app${randomUUID().replaceAll('-', '')}`
    try {
      const manager = await jetstreamManager(connection)
      await manager.streams.add({ name, subjects: [`${name}.>`] })
      await throughSink(natsSink(jetstream(connection), { subject: () => `${name}.receipt` }))
      await manager.streams.delete(name)
    } finally {
      await connection.close()
    }
  },
  async axios() {
    const { default: axios } = await import('axios')
    const { withIdempotency } = await import('reprise/client/axios')
    await throughClient(async (client, baseURL) => {
      const api = withIdempotency(axios.create({ baseURL }), client)
      return (await api.post('charges', { amount: 1 })).data
    })
  },
  async ky() {
    const { default: ky } = await import('ky')
    const { withIdempotency } = await import('reprise/client/ky')
    await throughClient((client, prefixUrl) => {
      const api = withIdempotency(ky.create({ prefixUrl }), client)
      return api.post('charges', { json: { amount: 1 } }).json()
    })
  },
  async '@opentelemetry/api'() {
    const { metrics, trace } = await import('@opentelemetry/api')
    const { openTelemetry } = await import('reprise/telemetry')
    const tracer = trace.getTracer('app')
    const meter = metrics?.getMeter('app')
    const telemetry = openTelemetry({ tracer, ...(meter && { meter }) })
    const reprise = createReprise({ store: memoryStore(), onEvent: telemetry.onEvent })
    const handler = onFetch(reprise, { caller }, () => Response.json({}, { status: 201 }))
    await twice(() => handler(new Request('http://app/items/1', REQUEST)))
  },
}

/** Old drivers may never answer: what takes this long does not work. */
const SMOKE_MS_MAX = 60_000

function tooLong() {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error('It took too long.')), SMOKE_MS_MAX).unref()
  })
}

const results = {}
for (const [name, smoke] of Object.entries(smokes)) {
  if (!(name in dependencies)) continue
  try {
    await Promise.race([smoke(), tooLong()])
    results[name] = 'works'
  } catch (error) {
    results[name] =
      error.name === 'RepriseError' ? `${error.code}: ${error.message}` : `${error.stack}`
  }
}
console.log(JSON.stringify(results))
process.exit(0)
