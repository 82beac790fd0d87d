import type { TestFiles } from '../runner.ts'
import { everywhere } from './everywhere.ts'

/** What runs on Bun and Deno alike: they have files and sockets. */
export const onServers: TestFiles = {
  ...everywhere,
  'test/client/servers.test.ts': () => import('../../../client/servers.test.ts'),
  'test/conformance/sqlite.node.test.ts': () => import('../../../conformance/sqlite.node.test.ts'),
  'test/stores/sqlite-check.test.ts': () => import('../../../stores/sqlite-check.test.ts'),
  'test/stores/sqlite-join.test.ts': () => import('../../../stores/sqlite-join.test.ts'),
  'test/stores/sqlite-late.test.ts': () => import('../../../stores/sqlite-late.test.ts'),
  'test/stores/sqlite-transactions.test.ts': () =>
    import('../../../stores/sqlite-transactions.test.ts'),
  'test/conformance/postgres.pg.test.ts': () => import('../../../conformance/postgres.pg.test.ts'),
  'test/conformance/postgres.postgres-js.test.ts': () =>
    import('../../../conformance/postgres.postgres-js.test.ts'),
  'test/conformance/redis.clients.test.ts': () =>
    import('../../../conformance/redis.clients.test.ts'),
}
