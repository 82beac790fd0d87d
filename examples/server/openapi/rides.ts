/**
 * The rides API.
 *
 * @module
 */

import { NewRide, ridesPolicy } from '../../rides/index.ts'
import { type ApiDescription, answer, bodyOf, inPath, object, schemaOf, withKeys } from './parts.ts'

const error = object({ error: { type: 'string' } })
const shared = { tags: ['rides'], security: [{ rides: [] }] }
/** Rides: three phases, with a charge at the payment provider between them. */
export function rides(docsUrl: string): ApiDescription {
  const { keyed, schemas } = withKeys({ ...ridesPolicy, docsUrl })
  return {
    tag: {
      name: 'rides',
      description:
        'Rides that are paid for (Fastify). Atomic phases around the charge, receipts by a staged job.',
    },
    securitySchemes: {
      rides: {
        ...{ type: 'apiKey', in: 'header', name: 'Authorization' },
        description: 'user@example.com, or user-bad-source@example.com, whose card is declined',
      },
    },
    schemas,
    paths: {
      '/rides': {
        post: keyed({
          ...{ ...shared, summary: 'Take a ride, and pay for it' },
          requestBody: bodyOf(schemaOf(NewRide), [
            'application/json',
            'application/x-www-form-urlencoded',
          ]),
          responses: {
            '201': answer('Paid', object({ message: { type: 'string' } })),
            '401': answer('Unknown user', error),
            '402': answer('Card declined', error),
            '422': answer('A parameter is missing or invalid', error),
            '500': answer('Failed half way: send the same again', error),
            '503': answer('The payment provider is down: send the same again', error),
          },
        }),
      },
      '/rides/{id}': {
        get: {
          ...{ ...shared, summary: 'Get a ride', parameters: [inPath('id')] },
          responses: {
            '200': answer('The ride', object({ id: {} })),
            '401': answer('Unknown user', error),
            '404': answer('No such ride', error),
          },
        },
      },
    },
  }
}
