/**
 * The tasks API.
 *
 * @module
 */

import { ChangedTask, NewTask, tasksPolicy } from '../../tasks/index.ts'
import {
  type ApiDescription,
  answer,
  bodyOf,
  inPath,
  object,
  schemaOf,
  textOf,
  withKeys,
} from './parts.ts'

const seconds = { type: 'integer', description: 'Unix seconds' }
const task = { $ref: '#/components/schemas/Task' }
const shared = { tags: ['tasks'], security: [{ tasks: [] }] }
const one = { ...shared, parameters: [inPath('id')] }
const failed = {
  '401': answer('No API key', { $ref: '#/components/schemas/TaskError' }),
  '400': answer('The request is not valid', { $ref: '#/components/schemas/TaskError' }),
}
const missing = {
  ...failed,
  '404': answer('No such task', { $ref: '#/components/schemas/TaskError' }),
}

/** Tasks: created 201, replayed 200. */
export function tasks(docsUrl: string): ApiDescription {
  const { keyed, schemas } = withKeys({ ...tasksPolicy, docsUrl })
  return {
    tag: {
      name: 'tasks',
      description: 'To-do lists (Express). The key, the task and the answer commit together.',
    },
    securitySchemes: {
      tasks: { type: 'http', scheme: 'bearer', description: 'sk_test_… or sk_live_…' },
    },
    schemas: {
      ...schemas,
      Task: object({
        ...{ id: { type: 'string', pattern: '^task_' }, object: { const: 'task' } },
        ...{ task_name: textOf(255), is_done: { type: 'boolean' } },
        completed_at: { type: ['integer', 'null'], description: 'Unix seconds' },
        ...{ created_at: seconds, updated_at: seconds },
      }),
      TaskError: object({
        error: object({
          ...{ type: { type: 'string' }, message: { type: 'string' }, code: { type: 'string' } },
          ...{ param: { type: ['string', 'null'] }, doc_url: { type: 'string' } },
        }),
      }),
    },
    paths: {
      '/tasks': {
        get: {
          ...{ ...shared, summary: 'List tasks' },
          responses: {
            '200': answer(
              'The tasks',
              object({ object: { const: 'list' }, data: { type: 'array', items: task } }),
            ),
            '401': failed['401'],
          },
        },
        post: keyed({
          ...{ ...shared, summary: 'Create a task' },
          requestBody: bodyOf(schemaOf(NewTask)),
          responses: { '201': answer('Created', task), '200': answer('Replayed', task), ...failed },
        }),
      },
      '/tasks/{id}': {
        get: {
          ...one,
          summary: 'Get a task',
          responses: { '200': answer('The task', task), ...missing },
        },
        patch: keyed({
          ...{ ...one, summary: 'Change a task' },
          requestBody: bodyOf(schemaOf(ChangedTask)),
          responses: { '200': answer('Changed', task), ...missing },
        }),
        delete: keyed({
          ...{ ...one, summary: 'Delete a task, however often' },
          responses: { '200': { description: 'Deleted' }, ...failed },
        }),
      },
    },
  }
}
