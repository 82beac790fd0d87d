import { describe } from 'vitest'
import { notRun } from '../support/not-run.ts'
import { describeRuntime } from './describe.ts'
import { bunFiles } from './inside/files/bun.ts'
import { programOf } from './programs.ts'
import { runProcess } from './run.ts'

const program = await programOf('bun')

if ('missing' in program) {
  notRun({ suite: 'test/runtimes/bun.test.ts', reason: program.missing })
  describe.skip('inside bun', () => {})
} else {
  const run = (job: Parameters<typeof runProcess>[2]) => runProcess('bun', [program.path], job)
  describeRuntime({ name: 'bun', files: bunFiles, run })
}
