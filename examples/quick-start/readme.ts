import express from 'express'
import pg from 'pg'
import { createReprise, hashSecret } from 'reprise'
import { idempotent, txOf } from 'reprise/express'
import { postgresStore } from 'reprise/postgres'

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, pipeline: true })
export const reprise = createReprise({ store: postgresStore(pool) })
await reprise.ready()
const caller = (req: express.Request) => hashSecret(req.get('Authorization') ?? '')
const once = idempotent(reprise, { caller, transaction: true, required: true })
const app = express()

// Your own sign-in comes first: a request of nobody has no caller.
app.use((req, res, next) => void (req.get('Authorization') ? next() : res.sendStatus(401)))
app.post('/charges', express.json(), once, async (req, res) => {
  const sql = 'insert into charges (amount) values ($1) returning id'
  const { rows } = await txOf<pg.PoolClient>(req).query(sql, [req.body.amount])
  res.status(201).json(rows[0])
})
export const server = app.listen(Number(process.env.PORT ?? 3000))
