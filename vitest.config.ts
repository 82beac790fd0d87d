import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Generous, because a busy machine is no bug: nothing waits this long when all is well.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: '100%',
    allowOnly: false,
  },
})
