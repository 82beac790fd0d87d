/**
 * What proves at length: `npm run proof`. It runs every `*.proof.ts`, and once more, with larger
 * numbers, every test that repeats itself `atLength`.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { settings } from './vitest.config.ts'

const repeated = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
  .map((name) => `test/${name}`)
  .filter((file) => readFileSync(file, 'utf8').includes('/support/at-length.ts'))

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    include: ['test/**/*.proof.ts', ...repeated],
    provide: { isProof: true },
  },
})
