import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The examples import the package by its name; `paths` of the nearest tsconfig.json say where it is.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/**/*.proof.ts'],
    // Installed and run apart, by `npm run orms`.
    exclude: ['**/node_modules/**', 'test/orms/**'],
    globalSetup: ['test/support/global-setup.ts'],
    // Generous, because a busy machine is no bug: nothing waits this long when all is well.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000 } },
    maxWorkers: '100%',
    allowOnly: false,
  },
})
