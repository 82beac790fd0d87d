/**
 * The agents API.
 *
 * @module
 */

import { agents as dialect } from 'reprise/dialects'
import {
  type ApiDescription,
  answer,
  bodyOf,
  inPath,
  type OperationSpec,
  object,
  type Schema,
  withKeys,
} from './parts.ts'

const { keyed, schemas } = withKeys(dialect)
const error = object({ detail: { type: 'string' } })
const text = { type: 'string' }
const made = object({ id: text })
const listed = object({ data: { type: 'array', items: made } })
const shared = { tags: ['agents'], security: [{ agents: [] }] }
const failed = { '401': answer('No token', error), '422': answer('Not valid', error) }

interface Post {
  readonly summary: string
  readonly body: Schema
  readonly status?: string
  readonly path?: readonly string[]
}

function post({ summary, body, status = '201', path = [] }: Post): OperationSpec {
  return keyed({
    ...{ ...shared, summary, parameters: path.map(inPath), requestBody: bodyOf(body) },
    responses: { [status]: answer('Done', made), ...failed },
  })
}

function list(summary: string): OperationSpec {
  return { ...shared, summary, responses: { '200': answer('All of them', listed), ...failed } }
}

const writing = object({ title: text, content: text }, ['title', 'content'])

/** What agents do, which retry a lot. */
export const agents: ApiDescription = {
  tag: {
    name: 'agents',
    description: 'Agents that call tools (Koa). The key is in X-Idempotency-Key.',
  },
  securitySchemes: {
    agents: { type: 'http', scheme: 'bearer', description: 'The token from /api/auth/agent' },
  },
  schemas,
  paths: {
    '/api/auth/agent': {
      post: keyed({
        ...{ tags: ['agents'], summary: 'Register an agent' },
        requestBody: bodyOf(object({ name: text }, ['name'])),
        responses: {
          '201': answer('Registered', object({ id: text, name: text, token: text })),
          '422': failed['422'],
        },
      }),
    },
    '/api/dwellers/{id}/act': {
      post: post({
        ...{ summary: 'Act', path: ['id'] },
        body: object({ action: text }, ['action']),
      }),
    },
    '/api/dwellers/{id}/heartbeat': {
      post: post({
        ...{ summary: 'Say that it lives', path: ['id'], status: '200' },
        body: { type: 'object' },
      }),
    },
    '/api/stories': {
      get: list('List stories'),
      post: post({ summary: 'Write a story', body: writing }),
    },
    '/api/proposals': {
      get: list('List proposals'),
      post: post({ summary: 'Make a proposal', body: writing }),
    },
    '/api/review/{type}/{id}/feedback': {
      post: post({
        ...{ summary: 'Give feedback', path: ['type', 'id'] },
        body: object({ verdict: text, text }, ['verdict', 'text']),
      }),
    },
  },
}
