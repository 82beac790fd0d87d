/**
 * The test files that run inside each runtime, by their paths in the repository. Each is the file that Node runs too,
 * but for the servers, which are those of the runtime.
 *
 * @module
 */

import type { TestFiles } from './runner.ts'

/** What needs neither a server, nor files, nor sockets. */
const everywhere: TestFiles = {
  'test/core/dialects.test.ts': () => import('../../core/dialects.test.ts'),
  'test/core/fingerprint.test.ts': () => import('../../core/fingerprint.test.ts'),
  'test/core/identity.test.ts': () => import('../../core/identity.test.ts'),
  'test/core/json.test.ts': () => import('../../core/json.test.ts'),
  'test/core/key.test.ts': () => import('../../core/key.test.ts'),
  'test/core/policy.test.ts': () => import('../../core/policy.test.ts'),
  'test/core/problem.test.ts': () => import('../../core/problem.test.ts'),
  'test/core/response.test.ts': () => import('../../core/response.test.ts'),
  'test/core/secret.test.ts': () => import('../../core/secret.test.ts'),
  'test/engine/seal.test.ts': () => import('../../engine/seal.test.ts'),
  'test/adapters/fetch-handler.test.ts': () => import('../../adapters/fetch-handler.test.ts'),
  'test/adapters/hono-handler.test.ts': () => import('../../adapters/hono-handler.test.ts'),
  'test/conformance/memory.test.ts': () => import('../../conformance/memory.test.ts'),
  'test/client/order.test.ts': () => import('../../client/order.test.ts'),
  'test/client/requests.test.ts': () => import('../../client/requests.test.ts'),
  'test/client/retries.test.ts': () => import('../../client/retries.test.ts'),
  'test/client/journal.test.ts': () => import('../../client/journal.test.ts'),
}

/** What runs on Bun and Deno alike: they have files and sockets. */
const onServers: TestFiles = {
  ...everywhere,
  'test/client/servers.test.ts': () => import('../../client/servers.test.ts'),
  'test/conformance/sqlite.node.test.ts': () => import('../../conformance/sqlite.node.test.ts'),
  'test/stores/sqlite-check.test.ts': () => import('../../stores/sqlite-check.test.ts'),
  'test/stores/sqlite-join.test.ts': () => import('../../stores/sqlite-join.test.ts'),
  'test/stores/sqlite-transactions.test.ts': () =>
    import('../../stores/sqlite-transactions.test.ts'),
  'test/conformance/postgres.pg.test.ts': () => import('../../conformance/postgres.pg.test.ts'),
  'test/conformance/postgres.postgres-js.test.ts': () =>
    import('../../conformance/postgres.postgres-js.test.ts'),
  'test/conformance/redis.clients.test.ts': () => import('../../conformance/redis.clients.test.ts'),
}

export const bunFiles: TestFiles = {
  ...onServers,
  'test/runtimes/inside/bun-serve.ts': () => import('./bun-serve.ts'),
  'test/runtimes/inside/sqlite.bun.ts': () => import('./sqlite.bun.ts'),
}

export const denoFiles: TestFiles = {
  ...onServers,
  'test/runtimes/inside/deno-serve.ts': () => import('./deno-serve.ts'),
}
