import { describeRuntime } from './describe.ts'
import { bunFiles } from './inside/files/bun.ts'
import { programOf } from './programs.ts'
import { runProcess } from './run.ts'

describeRuntime({
  name: 'bun',
  program: await programOf('bun'),
  files: bunFiles,
  run: (program, job) => runProcess('bun', [program], job),
})
