/**
 * A worker that runs test files when it is asked to, and answers with one line for each test. Its other entrypoints
 * are the ports that the tests serve their apps on.
 *
 * @module
 */

import type { Job, Line } from '../report.ts'
import { workerdFiles } from './files/workerd.ts'
import { runFiles } from './runner.ts'
import { doorOf, setPorts } from './workerd-doors.ts'

interface WorkerJob extends Job {
  readonly ports: readonly number[]
}

export default {
  async fetch(request: Request): Promise<Response> {
    // The test that started workerd sends it.
    const job = (await request.json()) as WorkerJob
    setPorts(job.ports)
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const report = (line: Line) => void writer.write(Buffer.from(`${JSON.stringify(line)}\n`))
    void runFiles(workerdFiles, job, report).then(
      () => writer.close(),
      (error: unknown) => writer.abort(error),
    )
    return new Response(readable)
  },
}

export const door0: ReturnType<typeof doorOf> = doorOf(0)
export const door1: ReturnType<typeof doorOf> = doorOf(1)
export const door2: ReturnType<typeof doorOf> = doorOf(2)
export const door3: ReturnType<typeof doorOf> = doorOf(3)

export { cutFetch, cutHono } from './workerd-cut.ts'
