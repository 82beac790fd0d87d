import express from 'express'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/express'

export const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
await reprise.ready()
const once = idempotent(reprise, { caller: (req) => hashSecret(req.get('Authorization') ?? '') })
const charges: unknown[] = []
const app = express()

// Your own sign-in comes first: a request of nobody has no caller.
app.use((req, res, next) => {
  if (req.get('Authorization')) next()
  else res.sendStatus(401)
})
app.post('/charges', express.json(), once, (req, res) => {
  const id = charges.push(req.body)
  res.status(201).json({ id })
})

export const server = app.listen(Number(process.env.PORT ?? 3000))
