import { createServer, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/node'

export const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
await reprise.ready()
const caller = (req: IncomingMessage) => hashSecret(req.headers.authorization ?? '')
const charges: unknown[] = []

const createCharge = idempotent(reprise, { caller }, async (req, res) => {
  const id = charges.push(await json(req))
  res.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify({ id }))
})

// Your own sign-in comes first: a request of nobody has no caller.
export const server = createServer((req, res) => {
  if (req.headers.authorization) createCharge(req, res)
  else res.writeHead(401).end()
}).listen(Number(process.env.PORT ?? 3000))
