/**
 * Every page in a browser: empty, with data and without a store, in both themes, at three paths.
 *
 * @module
 */

import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { lacksChromium, useChromium } from '../support/chromium.ts'
import type { Mood } from './memory-admin.ts'
import { BASES, openWorld, type World } from './world.ts'

/** Path and heading of every page. */
const PAGES = [
  ['', 'Overview'],
  ['requests', 'Requests'],
  ['person', 'Needs a person'],
  ['stuck', 'Stuck'],
  ['conflicts', 'Conflicts'],
  ['jobs', 'Staged jobs'],
  ['workers', 'Workers'],
  ['audit', 'Audit'],
] as const

const MOODS = ['empty', 'seeded', 'error'] satisfies Mood[]

/** For machines that do many other things: a page is looked at sixteen times within one test. */
const WAIT_MS = 300_000

describe.skipIf(lacksChromium('test/dashboard/pages.test.ts'))(
  'the pages',
  { timeout: WAIT_MS },
  () => {
    const browser = useChromium()
    let world: World
    beforeAll(async () => {
      world = await openWorld()
    })
    afterAll(() => world?.close())

    /** A page that watches for what must not happen. */
    async function open(options: { refresh?: string } = {}) {
      const context = await browser().newContext({ colorScheme: 'light', reducedMotion: 'reduce' })
      context.setDefaultTimeout(WAIT_MS)
      const page = await context.newPage()
      onTestFinished(() => context.close())
      const wrong: string[] = []
      page.on('request', (request) => {
        const { origin, protocol } = new URL(request.url())
        if (origin !== world.origin && protocol !== 'data:') wrong.push(`asks ${request.url()}`)
      })
      page.on('pageerror', (error) => wrong.push(error.message))
      page.on('console', (message) => {
        const isExpected = /status of (503|404)/.test(message.text())
        if (message.type() === 'error' && !isExpected) wrong.push(message.text())
      })
      const { refresh = 'paused' } = options
      await page.addInitScript((chosen) => {
        localStorage.setItem('reprise-dashboard', JSON.stringify({ refresh: chosen }))
        Object.assign(globalThis, { violations: [] })
        document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
          Reflect.get(globalThis, 'violations').push(`${violatedDirective} ${blockedURI}`),
        )
      }, refresh)
      return { page, wrong }
    }

    /** Whether a page with this heading has all that it shows. */
    async function settled(page: Page, heading: string): Promise<void> {
      await page.waitForFunction((text) => {
        const isHere = document.querySelector('main h1')?.textContent?.includes(text)
        return isHere && document.querySelector('main .loading') === null
      }, heading)
    }

    /** What axe finds on the page as it is; of the colours alone, where nothing else has changed. */
    async function findings(page: Page, isOnlyColors = false): Promise<string[]> {
      return page.evaluate(async (onlyColors) => {
        const found = Reflect.get(globalThis, 'axe')
        const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
        const runOnly = onlyColors ? ['color-contrast', 'link-in-text-block'] : tags
        const { violations } = await found.run(document, { runOnly, resultTypes: ['violations'] })
        return violations.flatMap((one: { id: string; nodes: { html: string }[] }) =>
          one.nodes.map(({ html }) => `${one.id}: ${html.slice(0, 160)}`),
        )
      }, isOnlyColors)
    }

    describe.each(BASES)('at %s', (base) => {
      it.each(MOODS)(
        'A-01, A-05, A-09, A-10, A-11 have nothing against them when %s',
        async (mood) => {
          world.admin.mood = mood
          const { page, wrong } = await open()
          await page.goto(world.origin + base)
          await page.evaluate(axe.source)
          const found: Record<string, string[]> = {}
          const check = async (name: string) => {
            for (const colorScheme of ['light', 'dark'] as const) {
              await page.emulateMedia({ colorScheme })
              const problems = await findings(page, colorScheme === 'dark')
              if (problems.length > 0) found[`${name} ${colorScheme}`] = problems
            }
          }
          for (const [path, heading] of PAGES) {
            await page.locator('.nav a').filter({ hasText: heading }).click()
            await settled(page, heading)
            expect(new URL(page.url()).pathname).toBe(base + path)
            expect(await page.title()).toMatch(
              new RegExp(`^${heading}( \\(.*\\))? · staging · reprise$`),
            )
            await expect.poll(() => page.locator('h1').count()).toBe(1)
            await check(heading)
          }
          if (mood === 'seeded') {
            // One that has everything: duplicates, a mismatch, calls and jobs.
            const request = world.admin.requests.find(
              ({ duplicates, history }) => duplicates === 3 && history.length > 2,
            )
            await page.goto(`${world.origin}${base}requests/${request?.id}`)
            await settled(page, request?.key ?? '')
            await page.evaluate(axe.source)
            await page.getByRole('button', { name: 'Reveal' }).click()
            await page.locator('.tree').first().waitFor()
            await check('detail')
          }
          expect(found).toEqual({})
          expect(wrong).toEqual([])
          expect(await page.evaluate(() => Reflect.get(globalThis, 'violations'))).toEqual([])
          expect(await page.title()).not.toBe('pwned')
        },
      )

      it('D-61 have links that work, and one order is carried out', async () => {
        world.admin.mood = 'seeded'
        world.admin.restore()
        const { page, wrong } = await open({ refresh: 'live' })
        const links = new Set<string>()
        const collect = async () => {
          const hrefs = await page
            .locator('a[href]')
            .evaluateAll((all) =>
              all.map((one) => (one instanceof HTMLAnchorElement ? one.href : '')),
            )
          for (const href of hrefs) links.add(href.split('#')[0] ?? '')
        }
        for (const [path, heading] of PAGES) {
          await page.goto(world.origin + base + path)
          await settled(page, heading)
          await collect()
        }
        await page.goto(`${world.origin}${base}requests/${world.admin.requests[3]?.id}`)
        await page.locator('.timeline').waitFor()
        await collect()
        expect(links.size).toBeGreaterThan(60)
        for (const link of links) {
          expect(link.startsWith(world.origin + base), link).toBe(true)
          expect((await fetch(link)).status, link).toBe(200)
        }

        await page.goto(`${world.origin}${base}workers`)
        await page.getByRole('button', { name: 'Pause completer' }).click()
        await page
          .getByRole('status')
          .filter({ hasText: 'The completer is told: pause.' })
          .waitFor()
        await page.getByRole('button', { name: 'Resume completer' }).waitFor()
        expect(world.admin.audits).toHaveLength(1)
        await page.locator('.status[data-connection="live"]').waitFor()
        expect(wrong).toEqual([])
      })

      it('D-61 are found with and without a slash at the end', async () => {
        world.admin.mood = 'seeded'
        const { page } = await open()
        const paths = [base, base.slice(0, -1) || '/', `${base}stuck`, `${base}stuck/`]
        for (const path of paths) {
          await page.goto(world.origin + path)
          await settled(page, path.includes('stuck') ? 'Stuck' : 'Overview')
          await expect.poll(() => page.locator('.nav a[aria-current="page"]').count()).toBe(1)
        }
      })
    })

    it('A-08 fit a phone of 320 pixels, and zoom of 200 %', async () => {
      world.admin.mood = 'seeded'
      const { page } = await open()
      const request = world.admin.requests[5]
      for (const width of [320, 640]) {
        await page.setViewportSize({ width, height: 640 })
        for (const [path, heading] of [
          ...PAGES,
          [`requests/${request?.id}`, request?.key] as const,
        ]) {
          await page.goto(`${world.origin}/a/b/${path}`)
          await settled(page, heading ?? '')
          const over = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          )
          expect(over, `${path} at ${width}`).toBeLessThanOrEqual(0)
        }
      }
    })

    it('D-11 show every column of requests on a screen of 1280 pixels', async () => {
      world.admin.mood = 'seeded'
      const { page } = await open()
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(`${world.origin}/requests`)
      await settled(page, 'Requests')
      const beyond = await page
        .locator('main .wide')
        .evaluateAll((frames) =>
          frames.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
        )
      expect(beyond).toEqual([0])
    })

    it('D-03 name what has an unknown outcome, and rows of sums that say something', async () => {
      world.admin.mood = 'seeded'
      const [request] = world.admin.requests
      if (request === undefined) throw new Error('There are seeded requests.')
      const left = { state: 'unfinished', recoveryPoint: null, letter: null } as const
      world.admin.requests[0] = { ...request, ...left, personAt: request.now + 240_000 }
      onTestFinished(() => world.admin.restore())
      const { page } = await open()
      await page.goto(`${world.origin}/person`)
      await page.getByRole('heading', { name: 'Outcome unknown' }).waitFor()
      await page.locator('.card a.row-link').first().click()
      await page.getByText('The outcome of this request is unknown.').waitFor()
      await page.goto(`${world.origin}/`)
      await settled(page, 'Overview')
      const rows = await page.locator('#breakdown tbody th').allInnerTexts()
      expect(rows).toEqual(['POST /rides', 'acct_42'])
    })

    it('A-08 have targets of at least 24 pixels, but for links within text', async () => {
      world.admin.mood = 'seeded'
      const { page } = await open()
      for (const [path, heading] of PAGES) {
        await page.goto(`${world.origin}/a/b/${path}`)
        await settled(page, heading)
        const small = await page
          .locator('button, select, input:not([type=checkbox]), summary, .nav a, .tab a')
          .evaluateAll((all) =>
            all
              .filter((one) => one.checkVisibility())
              .filter((one) => {
                const { width, height } = one.getBoundingClientRect()
                return width < 24 || height < 24
              })
              .map((one) => one.outerHTML.slice(0, 100)),
          )
        expect(small).toEqual([])
      }
    })

    it('A-07 move only where motion is welcome, and follow the theme that was chosen', async () => {
      world.admin.mood = 'seeded'
      const { page } = await open()
      await page.goto(`${world.origin}/`)
      await settled(page, 'Overview')
      const backOf = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
      const light = await backOf()
      await page.getByLabel('Theme').selectOption('dark')
      expect(await backOf()).not.toBe(light)
      await page.getByLabel('Theme').selectOption('system')
      expect(await backOf()).toBe(light)
      const running = await page.evaluate(() => document.getAnimations().length)
      expect(running).toBe(0)
      await page.emulateMedia({ forcedColors: 'active' })
      await page.evaluate(axe.source)
      expect(await findings(page)).toEqual([])
    })
  },
)
