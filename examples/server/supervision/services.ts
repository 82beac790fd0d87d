/**
 * What the server runs on: database, payment provider, mailbox. Started by the one who owns the data
 * directory, shared with everybody else on it.
 *
 * @module
 */

import { join } from 'node:path'
import { freePort } from '../../../scripts/servers/guarded.ts'
import { named, startDatabase } from '../database/database.ts'
import type { ProviderOrder } from '../provider/main.ts'
import type { Settings } from '../settings.ts'
import { bundle } from './bundle.ts'
import { claimData } from './data-lock.ts'
import { Supervised } from './supervised.ts'

/** Where everything is. */
export interface Services {
  readonly databaseUrl: string
  /** What the database is, for people. */
  readonly database: string
  /** Whether every connection to it is a session of its own. */
  readonly hasSessions: boolean
  /** Where charges are made: the simulator, or what `STRIPE_API_BASE` says. */
  readonly stripeApiBase: string
  /** Where receipts go: the mailbox, or what `SMTP_URL` says. */
  readonly smtpUrl: string
  readonly simulator: Simulator
  /** File in which the faults are noted that were carried out. */
  readonly faultLog: string
}

/** The payment provider and the mailbox of our own. */
export interface Simulator {
  /** Speaks as Stripe's API does. */
  readonly apiUrl: string
  readonly smtpUrl: string
  /** Its ledger, the mailbox, its switches. */
  readonly controlUrl: string
}

/** Services that run. */
export interface RunningServices {
  readonly services: Services
  /** Resolves if they end by themselves, because another process owns them. */
  readonly ended: Promise<void>
  /** The process that owns them, if it is another one. */
  readonly owner: number | undefined
  stop(): Promise<void>
}

/** Starts what is needed, or joins the server that already runs on the same data. */
export async function startServices(settings: Settings): Promise<RunningServices> {
  const claim = await claimData<Services>(settings.dataDirectory)
  if (claim.role === 'guest') {
    const { shared, ended, pid, leave } = claim
    const services = await joined(settings, shared)
    return { services, ended, owner: pid, stop: async () => leave() }
  }
  const stops = [() => claim.release()]
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const provider = await createProvider()
    stops.push(() => provider.stop())
    const [database, simulator] = await Promise.all([
      startDatabase(settings).then((database) => {
        // Ended after the provider, before the lock is let go.
        stops.splice(1, 0, () => database.stop())
        return database
      }),
      startSimulator(provider, join(settings.dataDirectory, 'provider')),
    ])
    const { url, what, hasSessions } = database
    const services: Services = {
      ...{ databaseUrl: url, database: what, hasSessions },
      ...{ stripeApiBase: simulator.apiUrl, smtpUrl: simulator.smtpUrl },
      ...{ simulator, ...given(settings) },
      faultLog: join(settings.dataDirectory, 'faults.jsonl'),
    }
    claim.share(services)
    return { services, ended: new Promise(() => {}), owner: undefined, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What of the services is used that another server runs, and what the environment says instead. */
export async function joined(settings: Settings, shared: Services): Promise<Services> {
  const { databaseUrl } = settings
  const own = databaseUrl === undefined ? undefined : await named(databaseUrl)
  return {
    ...{ ...shared, ...given(settings) },
    ...(own && { databaseUrl: own.url, database: own.what, hasSessions: own.hasSessions }),
  }
}

function given({ stripeApiBase, smtpUrl }: Settings): Partial<Services> {
  return { ...(stripeApiBase && { stripeApiBase }), ...(smtpUrl && { smtpUrl }) }
}

async function createProvider(): Promise<Supervised<ProviderOrder>> {
  const program = await bundle('provider/main.ts')
  return new Supervised({ name: 'payment provider', bundle: program, hasSpare: false })
}

async function startSimulator(
  provider: Supervised<ProviderOrder>,
  directory: string,
): Promise<Simulator> {
  const host = '127.0.0.1'
  const ports = [freePort(), freePort(), freePort()] as const
  const [apiPort, controlPort, smtpPort] = await Promise.all(ports)
  await provider.serve({ directory, host, apiPort, controlPort, smtpPort })
  return {
    apiUrl: `http://${host}:${apiPort}`,
    controlUrl: `http://${host}:${controlPort}`,
    smtpUrl: `smtp://${host}:${smtpPort}`,
  }
}
