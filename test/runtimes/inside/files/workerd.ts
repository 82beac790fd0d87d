import type { TestFiles } from '../runner.ts'
import { everywhere } from './everywhere.ts'

export const workerdFiles: TestFiles = {
  ...everywhere,
  'test/runtimes/inside/workerd-serve.ts': () => import('../workerd-serve.ts'),
}
