import { describe } from 'vitest'
import { notRun } from '../support/not-run.ts'
import { describeRuntime } from './describe.ts'
import { denoFiles } from './inside/files/deno.ts'
import { programOf } from './programs.ts'
import { runProcess } from './run.ts'

const program = await programOf('deno')

if ('missing' in program) {
  notRun({ suite: 'test/runtimes/deno.test.ts', reason: program.missing })
  describe.skip('inside deno', () => {})
} else {
  const run = (job: Parameters<typeof runProcess>[2]) =>
    runProcess('deno', [program.path, 'run', '--allow-all'], job)
  describeRuntime({ name: 'deno', files: denoFiles, run })
}
