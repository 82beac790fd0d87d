/**
 * What is measured, beside what.
 *
 * @module
 */

/** Which keys are sent: each a new one, or those of a ring over and over. */
export type Workload = 'fresh' | 'replay'

/** A variant to measure. */
export interface Measurement {
  /** Framework and setup. */
  readonly variant: string
  /** What it runs beside, in turns. */
  readonly beside: string
  readonly workload: Workload
}

const REPRISE = ['transaction', 'first-statement', 'lease-redis']
const EXPRESS_ONLY = ['lease-postgres', 'memory', 'phases']
/** The least that transaction mode can cost, to tell what of it is Reprise's own. */
const BY_HAND = ['by-hand', 'first-statement-by-hand']
const EXPRESS_PEERS = [
  ...['node-idempotency-redis', 'node-idempotency-memory', 'powertools-redis'],
  ...['express-idempotency-redis', 'express-idempotency-memory', 'dbos', 'dbos-phases'],
]

const FRESH: readonly string[] = [
  ...['express', 'fastify', 'hono', 'koa'].flatMap((framework) =>
    REPRISE.map((setup) => `${framework}/${setup}`),
  ),
  ...EXPRESS_ONLY.map((setup) => `express/${setup}`),
  'fastify/lease-postgres',
  ...['express', 'fastify'].flatMap((framework) => BY_HAND.map((setup) => `${framework}/${setup}`)),
  ...EXPRESS_PEERS.map((setup) => `express/${setup}`),
  'fastify/node-idempotency-redis',
]

const REPLAYED: readonly string[] = [
  ...['express', 'fastify'].flatMap((framework) =>
    ['transaction', 'transaction-uncached', 'lease-redis', 'lease-redis-uncached'].map(
      (setup) => `${framework}/${setup}`,
    ),
  ),
  ...['hono/transaction', 'koa/transaction'],
  ...['node-idempotency-redis', 'powertools-redis', 'express-idempotency-redis', 'dbos'].map(
    (setup) => `express/${setup}`,
  ),
  'fastify/node-idempotency-redis',
]

/** Everything, in the order in which it is measured. */
export const MEASUREMENTS: readonly Measurement[] = [
  ...FRESH.map((variant) => comparisonOf(variant, 'fresh')),
  ...REPLAYED.map((variant) => comparisonOf(variant, 'replay')),
]

/** What is also measured with a larger young generation. */
export const ROOMY: readonly Measurement[] = [
  ...['express/transaction', 'express/first-statement', 'express/lease-redis'],
  'fastify/transaction',
].map((variant) => comparisonOf(variant, 'fresh'))

/** An ordinary setting of servers under load: semi-spaces of 64 MB, where Node has 16. */
export const ROOMY_FLAGS: readonly string[] = ['--max-semi-space-size=64']

/** Whether the variant is somebody else's. */
export function isPeer(variant: string): boolean {
  return /node-idempotency|powertools|express-idempotency|dbos/.test(variant)
}

/** Whether the variant is Reprise. */
export function isOwn(variant: string): boolean {
  return !isPeer(variant) && !variant.endsWith('by-hand')
}

/** The variant beside what it is compared with. */
export function comparisonOf(variant: string, workload: Workload): Measurement {
  const [framework = ''] = variant.split('/')
  return { variant, workload, beside: `${framework}/${workload === 'fresh' ? 'bare' : 'noop'}` }
}
