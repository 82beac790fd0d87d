import { availableParallelism } from 'node:os'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

/** What `npm test` and `npm run proof` have in common. */
export const settings = {
  // The examples import the package by its name; `paths` of the nearest tsconfig.json say where it is.
  resolve: { tsconfigPaths: true },
  test: {
    // The ORMs are installed and run apart, by `npm run orms`.
    exclude: ['**/node_modules/**', 'test/orms/**'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/own-globals.ts'],
    // One process runs many files: loading the sources anew for each file took longer than most tests.
    isolate: false,
    // So what one test replaces has to be as it was before the next one.
    ...{ unstubEnvs: true, unstubGlobals: true },
    reporters: ['default', './test/support/slowest-files.ts'],
    // Generous, because a busy machine is no bug: nothing waits this long when all is well.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000 } },
    // Two for each core: tests wait for leases, servers and pages about half of the time.
    maxWorkers: 2 * availableParallelism(),
    allowOnly: false,
  },
} satisfies ViteUserConfig

export default defineConfig({
  ...settings,
  test: { ...settings.test, include: ['test/**/*.test.ts'], provide: { isProof: false } },
})
