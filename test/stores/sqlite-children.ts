import { join } from 'node:path'
import { type Child, useProgram } from '../support/children.ts'
import type { ChildMessage, ChildTask } from './sqlite-child.ts'

/** Prepares the program once for the test file; the result starts it as a process. */
export function useChildren(): (task: ChildTask) => Child<ChildMessage> {
  return useProgram(join(import.meta.dirname, 'sqlite-child.ts'))
}
