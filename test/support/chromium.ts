import {
  type Browser,
  type BrowserContext,
  type CDPSession,
  chromium,
  type Page,
} from 'playwright-core'
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

/** Pages of a browser that finds no network, and where they are told that there is one. */
const told = new WeakMap<Page, CDPSession>()

/**
 * Has a page believe that there is a network. A browser takes a machine that only reaches itself for
 * offline, and the servers of tests are on that machine.
 */
export async function connect(page: Page): Promise<void> {
  if (await page.evaluate(() => navigator.onLine)) return
  const session = told.get(page) ?? (await page.context().newCDPSession(page))
  told.set(page, session)
  // With values that change nothing, Chromium would go back to what it has found.
  await session.send('Network.overrideNetworkState', {
    ...{ offline: false, latency: 1, downloadThroughput: -1, uploadThroughput: -1 },
    connectionType: 'ethernet',
  })
}

/** Gives the pages of a context their network back, after `setOffline(true)`. */
export async function reconnect(context: BrowserContext): Promise<void> {
  await context.setOffline(false)
  for (const page of context.pages()) if (told.has(page)) await connect(page)
}
