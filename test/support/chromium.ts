import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, inject } from 'vitest'
import { notRun } from './not-run.ts'

/** Flags for a browser that asks nobody outside. */
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--no-first-run'],
]

/** Whether the suite has to be left out, because there is no browser; it is then listed as such. */
export function lacksChromium(suite: string): boolean {
  const found = inject('chromium')
  return 'missing' in found && notRun({ suite, reason: found.missing })
}

/** A browser for the tests of a suite. */
export function useChromium(): () => Browser {
  let browser: Browser
  beforeAll(async () => {
    const found = inject('chromium')
    if ('missing' in found) throw new Error(found.missing)
    const { path, env } = found
    browser = await chromium.launch({
      ...{ executablePath: path, args: FLAGS },
      env: { ...process.env, ...env },
    })
  })
  afterAll(() => browser?.close())
  return () => browser
}
