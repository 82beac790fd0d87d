/**
 * What `npm start` runs: starts the database, the payment provider and the API, each in a process of
 * its own, starts again what dies, and ends all of them when it ends.
 */

import { randomUUID } from 'node:crypto'
import type { ApiOrder } from './api.ts'
import { PGLITE_MEANS } from './database/pglite.ts'
import { readSettings, type Settings } from './settings.ts'
import { bundle, endBundling } from './supervision/bundle.ts'
import { choosePort, urlOf } from './supervision/ports.ts'
import { type RunningServices, startServices } from './supervision/services.ts'
import { Supervised } from './supervision/supervised.ts'
import { whyToEnd } from './supervision/why-to-end.ts'

/** Starts everything; gives what stops it, in the right order. */
async function start(settings: Settings): Promise<Running> {
  const { host, isDemo, hasWorkers, stripeApiKey } = settings
  const { port, busy } = await choosePort(host, settings.port)
  if (busy !== undefined) console.log(`Port ${busy} is in use; this server takes ${port}.`)
  const api = new Supervised<ApiOrder>({
    name: 'API',
    bundle: await bundle('api.ts'),
    hasSpare: true,
    onReplaced: (died, pid) => console.log(`The API's ${died}; process ${pid} serves now.`),
  })
  const stops = [() => api.stop()]
  const stop = async () => {
    for (const each of stops.splice(0)) await each()
  }
  try {
    const running = await startServices(settings)
    stops.push(() => running.stop())
    const { services } = running
    const url = settings.publicUrl ?? urlOf(host, port)
    await api.serve({ services, url, stripeApiKey, host, port, isDemo, hasWorkers })
    await endBundling()
    return { running, url: urlOf(host, port), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Running {
  readonly running: RunningServices
  readonly url: string
  stop(): Promise<void>
}

function tell({ running, url }: Running, settings: Settings): void {
  const { services, owner } = running
  const { stripeApiBase, simulator } = services
  const isSimulated = stripeApiBase === simulator.apiUrl
  const rows = [
    ['playground', `${url}/`],
    ...(settings.isDemo ? [['dashboard', `${url}/dashboard`]] : []),
    ['API documentation', `${url}/docs`],
    ['metrics', `${url}/metrics`],
    ['health', `${url}/health/ready`],
    ...(settings.isDemo ? [['what really happened', `${url}/demo/ledger`]] : []),
    ['database', services.database],
    ['payment provider', isSimulated ? `simulator at ${stripeApiBase}` : stripeApiBase],
    ['receipts', services.smtpUrl === simulator.smtpUrl ? 'own mailbox' : 'to SMTP_URL'],
  ]
  console.log(`\nReprise serves on ${url}\n`)
  for (const [name = '', where = ''] of rows) console.log(`  ${name.padEnd(22)}${where}`)
  const notes = [
    services.hasSessions ? '' : PGLITE_MEANS,
    settings.hasWorkers
      ? ''
      : 'REPRISE_WORKERS=0: no workers run here. Start them: npm run worker.',
    owner === undefined ? '' : `Joined the server with process id ${owner}; ends with it.`,
    isSimulated && process.env['STRIPE_API_KEY']
      ? 'STRIPE_API_KEY is set and STRIPE_API_BASE is not: charges go to the simulator. For the real provider set STRIPE_API_BASE=https://api.stripe.com.'
      : '',
  ].filter((note) => note !== '')
  if (notes.length > 0) console.log(`\n${notes.join('\n')}`)
  const curl = `curl -i ${url}/tasks -H 'Authorization: Bearer sk_test_demo' -H 'Idempotency-Key: ${randomUUID()}' -H 'Content-Type: application/json' -d '{"task_name":"Buy milk"}'`
  console.log(
    `\nMake a task, then send the same again: the answer says Idempotent-Replayed: true.\nIts status is 200 instead of 201, because /tasks speaks the dialect tasks; the default repeats the first.\n`,
  )
  console.log(`  ${curl}\n  ${curl}\n\nCtrl-C ends it.`)
}

process.env['REPRISE_DEMO'] ??= '1'
// A terminal that is closed takes no more lines; that must not keep anything from being ended.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
try {
  const ending = whyToEnd()
  const settings = readSettings(process.env)
  const started = start(settings)
  const running = await Promise.race([started, ending])
  if (typeof running === 'string') {
    console.log(`\n${running}`)
    await started.then((late) => late.stop())
    process.exit()
  }
  tell(running, settings)
  const owned = running.running.ended.then(() => 'The server that this one joined has ended.')
  console.log(`\n${await Promise.race([ending, owned])}`)
  await running.stop()
  process.exit()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
