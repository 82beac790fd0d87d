/**
 * Test files that run inside every runtime, by their paths in the repository. They are the files that Node runs too.
 *
 * @module
 */

import type { TestFiles } from '../runner.ts'

/** What needs neither a server, nor files, nor sockets. */
export const everywhere: TestFiles = {
  'test/core/dialects.test.ts': () => import('../../../core/dialects.test.ts'),
  'test/core/fingerprint.test.ts': () => import('../../../core/fingerprint.test.ts'),
  'test/core/identity.test.ts': () => import('../../../core/identity.test.ts'),
  'test/core/json.test.ts': () => import('../../../core/json.test.ts'),
  'test/core/key.test.ts': () => import('../../../core/key.test.ts'),
  'test/core/policy.test.ts': () => import('../../../core/policy.test.ts'),
  'test/core/problem.test.ts': () => import('../../../core/problem.test.ts'),
  'test/core/response.test.ts': () => import('../../../core/response.test.ts'),
  'test/core/secret.test.ts': () => import('../../../core/secret.test.ts'),
  'test/engine/seal.test.ts': () => import('../../../engine/seal.test.ts'),
  'test/adapters/fetch-handler.test.ts': () => import('../../../adapters/fetch-handler.test.ts'),
  'test/adapters/hono-handler.test.ts': () => import('../../../adapters/hono-handler.test.ts'),
  'test/conformance/memory.test.ts': () => import('../../../conformance/memory.test.ts'),
  'test/client/order.test.ts': () => import('../../../client/order.test.ts'),
  'test/client/requests.test.ts': () => import('../../../client/requests.test.ts'),
  'test/client/retries.test.ts': () => import('../../../client/retries.test.ts'),
  'test/client/journal.test.ts': () => import('../../../client/journal.test.ts'),
}
