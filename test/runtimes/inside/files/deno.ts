import type { TestFiles } from '../runner.ts'
import { onServers } from './servers.ts'

export const denoFiles: TestFiles = {
  ...onServers,
  'test/runtimes/inside/deno-client.ts': () => import('../deno-client.ts'),
  'test/runtimes/inside/deno-serve.ts': () => import('../deno-serve.ts'),
}
