/**
 * Hands the functions that a test has called to the run that asked for them.
 *
 * @module
 */

import { afterEach } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Functions that were called since the test before. */
    reached?: readonly string[]
  }
}

const holder: typeof globalThis & { repriseReached?: Set<string> } = globalThis
holder.repriseReached ??= new Set()

afterEach(({ task }) => {
  task.meta.reached = [...(holder.repriseReached ?? [])]
  holder.repriseReached?.clear()
})
