/**
 * The charges API.
 *
 * @module
 */

import { chargesPolicy, NewCharge } from '../../charges/index.ts'
import { type ApiDescription, answer, bodyOf, inPath, object, schemaOf, withKeys } from './parts.ts'

const error = object({ error: object({ type: { type: 'string' }, message: { type: 'string' } }) })
const amount = { type: 'integer', minimum: 1 }
const currency = { type: 'string', minLength: 3, maxLength: 3 }
const charge = object({
  ...{ id: { type: 'string', pattern: '^ch_' }, amount, currency },
  status: { const: 'succeeded' },
})
const shared = { tags: ['charges'], security: [{ charges: [] }] }
const one = { ...shared, parameters: [inPath('id')] }
const failed = { '401': answer('No user', error) }

/** Charges, which need a key, and orders, which do not. */
export function charges(docsUrl: string): ApiDescription {
  const { keyed, schemas } = withKeys({ ...chargesPolicy, docsUrl })
  return {
    tag: {
      name: 'charges',
      description: 'Payments and orders (Hono). An error while processing frees the key.',
    },
    securitySchemes: { charges: { type: 'http', scheme: 'bearer', description: 'user_…' } },
    schemas,
    paths: {
      '/v1/charges': {
        post: keyed({
          ...{ ...shared, summary: 'Charge a customer' },
          requestBody: bodyOf(schemaOf(NewCharge)),
          responses: {
            '201': answer('Charged', charge),
            '400': answer('Not valid', error),
            ...failed,
          },
        }),
      },
      '/v1/charges/{id}': {
        get: {
          ...{ ...one, summary: 'Get a charge' },
          responses: {
            '200': answer('The charge', charge),
            '404': answer('No such charge', error),
            ...failed,
          },
        },
      },
      '/orders/{id}': {
        get: {
          ...{ ...one, summary: 'Get an order' },
          responses: {
            '200': answer('The order', { type: 'object' }),
            '404': answer('No such order', error),
            ...failed,
          },
        },
        put: {
          ...{ ...one, summary: 'Replace an order', requestBody: bodyOf({ type: 'object' }) },
          responses: { '200': answer('The order', { type: 'object' }), ...failed },
        },
        delete: {
          ...{ ...one, summary: 'Delete an order, however often' },
          responses: { '204': { description: 'It is gone' }, ...failed },
        },
      },
    },
  }
}
