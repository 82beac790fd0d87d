import type { TestFiles } from '../runner.ts'
import { onServers } from './servers.ts'

export const bunFiles: TestFiles = {
  ...onServers,
  'test/runtimes/inside/bun-serve.ts': () => import('../bun-serve.ts'),
  'test/runtimes/inside/sqlite.bun.ts': () => import('../sqlite.bun.ts'),
}
