#!/usr/bin/env node
/**
 * The program `reprise`.
 *
 * @module
 */

import { run } from './run.ts'
import { flushed, systemIo } from './system-io.ts'

void main()

// A function, because a CommonJS module cannot await at its top level.
async function main(): Promise<never> {
  const exit = await run(process.argv.slice(2), systemIo())
  await flushed()
  // Connections that a configuration opened would keep the process.
  process.exit(exit)
}
