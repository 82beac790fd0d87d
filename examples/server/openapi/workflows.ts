/**
 * The workflows API.
 *
 * @module
 */

import { workflowsPolicy } from '../../workflows/index.ts'
import { type ApiDescription, answer, bodyOf, inPath, object, withKeys } from './parts.ts'

const error = object({ detail: { type: 'string' }, code: { type: 'string' } })
const run = object({
  ...{ id: { type: 'string' }, workflow_id: { type: 'string' }, status: { type: 'string' } },
})
const shared = { tags: ['workflows'], security: [{ workflows: [] }] }
const one = { ...shared, parameters: [inPath('id')] }
const failed = { '401': answer('No organisation', error) }

/** Workflow runs: each costs the organisation one of its usage. */
export function workflows(docsUrl: string): ApiDescription {
  const { keyed, schemas } = withKeys({ ...workflowsPolicy, docsUrl })
  return {
    tag: {
      name: 'workflows',
      description: 'Expensive jobs (NestJS). A run is started once, and counted once.',
    },
    securitySchemes: {
      workflows: {
        ...{ type: 'apiKey', in: 'header', name: 'Authorization' },
        description: 'Token <organisation>',
      },
    },
    schemas,
    paths: {
      '/api/workflows/{id}/start/': {
        post: keyed({
          ...{ ...one, summary: 'Start a run' },
          requestBody: bodyOf({ type: 'object' }),
          responses: {
            '201': answer('Started', run),
            '400': answer('The body is no JSON object', error),
            ...failed,
          },
        }),
      },
      '/api/workflows/{id}/runs/': {
        get: {
          ...{ ...one, summary: 'List the runs of a workflow' },
          responses: {
            '200': answer('The runs', object({ results: { type: 'array', items: run } })),
            ...failed,
          },
        },
      },
      '/api/usage/': {
        get: {
          ...{ ...shared, summary: 'How many runs the organisation has used' },
          responses: {
            '200': answer('The usage', object({ runs: { type: 'integer' } })),
            ...failed,
          },
        },
      },
    },
  }
}
