import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { notRun } from './not-run.ts'

/** Where Debian, Alpine and Fedora put it. */
const EXECUTABLE = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
].find((path) => path !== '' && existsSync(path))

const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--no-first-run'],
]

/** Whether the suite has to be left out, because there is no browser; it is then listed as such. */
export function lacksChromium(suite: string): boolean {
  const reason = 'Chromium is not installed; CHROMIUM may name where it is'
  return EXECUTABLE === undefined && notRun({ suite, reason, allowedInCi: true })
}

/** A browser for the tests of a suite. */
export function useChromium(): () => Browser {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: EXECUTABLE ?? '', args: FLAGS })
  })
  afterAll(() => browser?.close())
  return () => browser
}
