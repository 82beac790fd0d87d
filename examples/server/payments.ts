/**
 * The official SDK of Stripe, for the real provider and for the simulator alike.
 *
 * @module
 */

import { Stripe } from 'stripe'

/** How long the provider may take, in milliseconds. */
const TIMEOUT_MS = 10_000

/** A client for the provider at `base`. */
export function createStripe(base: string, key: string): Stripe {
  const { protocol, hostname, port } = new URL(base)
  const isPlain = protocol === 'http:'
  return new Stripe(key, {
    ...{ host: hostname, port: port || (isPlain ? 80 : 443), protocol: isPlain ? 'http' : 'https' },
    // What fails is taken up again by the operation, with the same key: no need to insist.
    ...{ maxNetworkRetries: 0, timeout: TIMEOUT_MS, telemetry: false },
  })
}
