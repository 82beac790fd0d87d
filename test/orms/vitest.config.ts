import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: join(import.meta.dirname, '../..'),
  test: {
    include: ['test/orms/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    allowOnly: false,
    // npm tells the name of the command that was given to it: both run these tests.
    provide: { isProof: process.env['npm_lifecycle_event'] === 'proof' },
  },
})
