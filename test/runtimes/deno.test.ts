import { describeRuntime } from './describe.ts'
import { denoFiles } from './inside/files/deno.ts'
import { programOf } from './programs.ts'
import { runProcess } from './run.ts'

describeRuntime({
  name: 'deno',
  program: await programOf('deno'),
  files: denoFiles,
  run: (program, job) => runProcess('deno', [program, 'run', '--allow-all'], job),
})
