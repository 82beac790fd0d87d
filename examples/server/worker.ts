/**
 * The three workers alone, without the APIs: `npm run worker`. On the database that `DATABASE_URL`
 * names, or the one of the server that runs on the same `REPRISE_DATA`; as many at once as you like.
 */

import { APIS } from './apis.ts'
import { startNode } from './node.ts'
import { readSettings } from './settings.ts'
import { visitData } from './supervision/data-lock.ts'
import { PORT_DEFAULT, urlOf } from './supervision/ports.ts'
import { joined, type Services } from './supervision/services.ts'

const settings = readSettings(process.env)
const visit = await visitData<Services>(settings.dataDirectory)
if (visit === undefined) {
  console.error(`No server runs on ${settings.dataDirectory}. Start one first: npm start.`)
  process.exit(1)
}
const services = await joined(settings, visit.shared)
const { stripeApiKey, host, port = PORT_DEFAULT } = settings
// Nobody asks the workers for a page; the APIs are only loaded for what they do behind the scenes.
const url = settings.publicUrl ?? urlOf(host, port)
const node = await startNode({ services, url, stripeApiKey, hasWorkers: true }, APIS)
console.log(`Enqueuer, completer and reaper run on ${services.database}. Ctrl-C ends them.`)

const why = await new Promise<string>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => resolve(`${signal}: ending.`))
  }
  visit.ended.then(
    () => resolve('The server has ended, and so do its workers.'),
    () => {},
  )
})
console.log(why)
visit.leave()
await node.close().catch(() => {})
process.exit()
