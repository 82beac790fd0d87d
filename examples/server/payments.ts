/**
 * The official SDK of Stripe, for the real provider and for the simulator alike.
 *
 * @module
 */

import { Stripe } from 'stripe'

/** How long the provider may take, in milliseconds. */
const TIMEOUT_MS = 10_000

/** Where nobody listens. */
const NOWHERE = { host: '127.0.0.1', port: '1', protocol: 'http' } as const

/** A provider. */
export interface Provider {
  readonly base: string
  readonly key: string
  /**
   * Whether a call finds it refusing connections.
   *
   * @default it never does
   */
  readonly isDown?: () => boolean
}

/** A client for the provider at `base`. */
export function createStripe({ base, key, isDown = () => false }: Provider): Stripe {
  const { protocol, hostname, port } = new URL(base)
  const isPlain = protocol === 'http:'
  return new Stripe(key, {
    ...{ host: hostname, port: port || (isPlain ? 80 : 443), protocol: isPlain ? 'http' : 'https' },
    // What fails is taken up again by the operation, with the same key: no need to insist.
    ...{ maxNetworkRetries: 0, timeout: TIMEOUT_MS, telemetry: false },
    httpClient: downWhen(isDown),
  })
}

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>

/** The SDK's own client, whose connections are refused, really, while the provider is down. */
function downWhen(isDown: () => boolean): HttpClient {
  const client = Stripe.createNodeHttpClient()
  return {
    getClientName: () => client.getClientName(),
    makeRequest(...asked) {
      if (!isDown()) return client.makeRequest(...asked)
      const [, , path, method, headers, data, , timeout] = asked
      const { host, port, protocol } = NOWHERE
      return client.makeRequest(host, port, path, method, headers, data, protocol, timeout)
    },
  }
}
