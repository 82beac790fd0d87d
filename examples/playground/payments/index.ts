/**
 * Two other ways to pay, to compare with `/rides`: without idempotency, and for a provider that does
 * not honour keys.
 *
 * @module
 */

import { rides } from 'reprise/dialects'
import type { LoadedApi } from '../../server/apis.ts'
import { serveCareful } from './careful.ts'
import { serveUnprotected } from './unprotected.ts'

/** Serves `/demo/payments/…`. */
export const demoPayments: LoadedApi = {
  ...{
    name: 'demo payments',
    framework: 'Node',
    dialect: rides,
    paths: ['/demo/payments'],
    counts: {},
  },
  schema: '',
  async create(context, { stripe }) {
    const careful = serveCareful(context, stripe)
    const unprotected = serveUnprotected(context, stripe)
    return {
      operations: [careful.operation],
      listener(request, response) {
        if (request.method !== 'POST') response.writeHead(405, { Allow: 'POST' }).end()
        else if (request.url === '/demo/payments/careful') careful.listener(request, response)
        else if (request.url === '/demo/payments/unprotected') unprotected(request, response)
        else response.writeHead(404).end()
      },
    }
  },
}
