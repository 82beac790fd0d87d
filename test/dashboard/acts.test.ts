/**
 * What a person does with the pages, in a browser.
 *
 * @module
 */

import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDashboard } from '../../src/dashboard/index.ts'
import { dashboardListener } from '../../src/dashboard/node.ts'
import { listen } from '../adapters/listen.ts'
import { lacksChromium, useChromium } from '../support/chromium.ts'
import { openWorld, type World } from './world.ts'

/** For machines that do many other things. */
const WAIT_MS = 120_000

describe.skipIf(lacksChromium('test/dashboard/acts.test.ts'))(
  'a person',
  { timeout: WAIT_MS },
  () => {
    const browser = useChromium()
    let world: World
    let page: Page
    beforeAll(async () => {
      world = await openWorld()
    })
    afterAll(() => world?.close())
    beforeEach(async () => {
      world.admin.mood = 'seeded'
      world.admin.restore()
      const context = await browser().newContext({ viewport: { width: 1280, height: 800 } })
      context.setDefaultTimeout(WAIT_MS)
      page = await context.newPage()
    })
    afterEach(() => page?.context().close())

    const url = (path: string) => `${world.origin}/a/b/${path}`
    const requestIn = (state: string) => {
      const found = world.admin.requests.find((one) => one.state === state)
      if (found === undefined) throw new Error(`Nothing is ${state}.`)
      return found
    }
    const rows = () => page.locator('table.list tbody tr')
    const dialog = () => page.getByRole('dialog')
    const said = (text: string | RegExp) =>
      page.getByRole('status').filter({ hasText: text }).waitFor()
    const choose = (name: string, value: string) => page.getByLabel(name).selectOption(value)

    it('D-01 … D-05 sees tiles, the band in words, what needs them, workers and numbers', async () => {
      await page.goto(url('?window=24h'))
      await page.locator('.tile').nth(4).waitFor()
      const tiles = await page.locator('.tile .name').allTextContents()
      expect(tiles).toEqual([
        ...['Checked', 'Replayed (hit)', 'First runs (miss)', 'Duplicates prevented', 'Hit rate'],
      ])
      await expect.poll(() => page.locator('.tile a').count()).toBe(5)
      await expect.poll(() => page.locator('.tile .spark polyline').count()).toBe(5)
      await expect.poll(() => page.locator('.band').textContent()).toBe(' Investigate · over 20 %')
      const sum = (await page.locator('.sum').textContent())
        ?.replaceAll(/\D+/g, ' ')
        .trim()
        .split(' ')
      expect(sum?.length).toBeGreaterThan(4)
      await expect
        .poll(() => page.getByText('Counted in whole hours, since').textContent())
        .toContain('The lines show the last 24 hours, hour by hour.')
      const concerns = await page.locator('.concerns li').allTextContents()
      expect(concerns[0]).toContain('need a person')
      await expect.poll(() => page.getByText('No completer running').count()).toBe(1)
      await page.getByRole('link', { name: 'See who' }).click()
      await page.waitForURL(/#breakdown$/)
      await page.getByRole('button', { name: 'View as table' }).click()
      const hours = page.locator('section:has-text("by the hour") tbody tr')
      await expect.poll(() => hours.count()).toBe(24)
      await page.getByRole('link', { name: '7 days' }).click()
      await page.waitForURL(/window=7d/)
    })

    it('D-12 a, c, d, e is told apart why there is nothing', async () => {
      world.admin.mood = 'empty'
      await page.goto(url('requests'))
      await page.getByText('Nothing has been recorded yet').waitFor()
      await expect.poll(() => page.locator('.empty').textContent()).toContain(url('requests'))
      world.admin.mood = 'seeded'
      await page.goto(url('requests?after=5000'))
      await page.getByText('This page is beyond the end').waitFor()
      await page.getByRole('link', { name: 'To the first page' }).click()
      await rows().first().waitFor()
      world.admin.mood = 'slow'
      await page.goto(url('requests?q=state:stuck'))
      await page.getByText('That took too long').waitFor()
      await expect.poll(() => page.locator('.chip').count()).toBe(1)
      world.admin.mood = 'error'
      await page.goto(url('requests'))
      await page.getByText('postgres://***@127.0.0.1').waitFor()
      await page.getByText(/Trying again in \d s/).waitFor()
      world.admin.mood = 'seeded'
      await rows().first().waitFor()
    })

    it('D-12 b, D-20, D-21 searches, is told of a wrong field, and opens a key', async () => {
      await page.goto(url('requests'))
      const search = page.locator('#search')
      await search.fill('colour:red state:stuck')
      await search.press('Enter')
      await page.getByText('There is no field colour.').waitFor()
      await search.fill('scope:nobody')
      await search.press('Enter')
      await page.getByText('Nothing matches these filters').waitFor()
      await page.locator('.empty').getByRole('link', { name: 'Clear filters' }).click()
      await rows().first().waitFor()
      await page.getByRole('button', { name: 'Filter help' }).click()
      await dialog().getByText('older than, in s, m, h or d').waitFor()
      await page.keyboard.press('Escape')
      const { key, id } = requestIn('stuck')
      await search.fill(key)
      await search.press('Enter')
      await page.waitForURL(url(`requests/${id}`))
      await page.locator('h1', { hasText: key }).waitFor()
    })

    it('D-20 keeps what was typed as soon as the search was there', async () => {
      await page.addInitScript(() => {
        new MutationObserver((_, observer) => {
          const search = document.querySelector<HTMLInputElement>('#search')
          if (search === null) return
          observer.disconnect()
          search.value = 'typed'
          search.dispatchEvent(new Event('input', { bubbles: true }))
        }).observe(document, { childList: true, subtree: true })
      })
      await page.goto(url('requests'))
      await rows().first().waitFor()
      expect(await page.locator('#search').inputValue()).toBe('typed')
    })

    it('D-10, D-11, D-14 filters by state, chooses columns, and comes back to where they were', async () => {
      await page.setViewportSize({ width: 1280, height: 400 })
      await page.goto(url('requests'))
      await page.getByRole('link', { name: 'All 24' }).waitFor()
      await page.locator('.tabs').getByRole('link', { name: 'Stuck 2' }).click()
      await page.waitForURL(/state=stuck/)
      await page.goto(url('requests'))
      await page.locator('summary', { hasText: 'Columns' }).click()
      await page.getByLabel('Caller').uncheck()
      await page.reload()
      await rows().first().waitFor()
      await expect
        .poll(() => page.getByRole('columnheader').allTextContents())
        .not.toContain('Caller')
      const link = rows().nth(20).locator('a')
      await link.scrollIntoViewIfNeeded()
      const scroll = await page.evaluate(() => scrollY)
      expect(scroll).toBeGreaterThan(100)
      const name = await link.textContent()
      await link.click()
      await page.locator('.timeline, .card').first().waitFor()
      await page.goBack()
      await page.waitForFunction((text) => document.activeElement?.textContent === text, name)
      expect(await page.evaluate(() => scrollY)).toBe(scroll)
    })

    it('D-13 sees time as they choose, everywhere, and again after a reload', async () => {
      await page.goto(url('requests'))
      const age = rows().first().locator('time').first()
      // Until the store has told its time, that of this machine counts.
      await rows().first().locator('time', { hasText: /ago$/ }).first().waitFor()
      expect(await age.getAttribute('title')).toBe('2026-11-16 11:56:00 UTC')
      await choose('Time', 'utc')
      await expect.poll(() => age.textContent()).toBe('2026-11-16 11:56:00 UTC')
      await page.reload()
      await age.waitFor()
      await expect.poll(() => age.textContent()).toBe('2026-11-16 11:56:00 UTC')
    })

    it('D-30 … D-38 sees everything about a request', async () => {
      const request = world.admin.requests.find(
        (one) => one.duplicates === 3 && one.history.length > 2,
      )
      await page.goto(url(`requests/${request?.id}`))
      await page.locator('.timeline .gap').first().waitFor()
      const text = (await page.locator('main').textContent()) ?? ''
      const parts = [
        ...['process web-1:4121 lost, 38 s until the next attempt', 'Completer, worker-1:7'],
        ...['rp_', 'noted of 3'],
        ...['Same key, another request', request?.fingerprint ?? '', request?.explanation ?? ''],
      ]
      for (const part of parts) expect(text).toContain(part)
      await page.getByRole('button', { name: 'Reveal' }).click()
      await page.locator('.tree').getByText('9007199254740993').waitFor()
      expect(world.admin.audits.map(({ action }) => action)).toEqual(['reveal'])
      // what is stored is text.
      expect(await page.locator('main img').count()).toBe(0)
    })

    it('D-50, D-51 is told why not, and confirms what may happen twice', async () => {
      const { id, key } = requestIn('finished')
      await page.goto(url(`requests/${id}`))
      const resume = page.getByRole('button', { name: 'Resume now' })
      await resume.waitFor()
      expect(await resume.getAttribute('aria-disabled')).toBe('true')
      await page.getByText('It is finished.', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Expire the key' }).click()
      await dialog().getByText('The charge call was sent at 11:03:11').waitFor()
      await dialog().getByLabel('Last 4 characters').fill('nope')
      await dialog().getByLabel('Reason').fill('wrong amount')
      await dialog().getByRole('button', { name: 'Expire the key' }).click()
      await dialog().getByText('The charge call was sent at 11:03:11.', { exact: true }).waitFor()
      await dialog().getByLabel('Last 4 characters').fill(key.slice(-4))
      await dialog().getByRole('button', { name: 'Expire the key' }).dblclick()
      await said('Done: expire.')
      expect(world.admin.effects).toBe(1)
      expect(world.admin.audits[0]).toMatchObject({ action: 'expire', note: 'wrong amount' })
    })

    it('D-57 is told when somebody else was faster', async () => {
      const request = requestIn('stuck')
      await page.goto(url(`requests/${request.id}`))
      await choose('Updates', 'paused')
      await page.getByRole('button', { name: 'Resume now' }).click()
      await dialog().getByLabel('Reason').fill('retry')
      request.version = 'v2'
      request.state = 'recovering'
      await dialog().getByRole('button', { name: 'Resume now' }).click()
      await said('It changed in the meantime. The request is recovering now.')
      await page.locator('.badge[data-state="recovering"]').waitFor()
    })

    it('D-54 settles in one of exactly three ways, with a note', async () => {
      await page.goto(url('person'))
      await page
        .getByRole('button', { name: /^Settle/ })
        .first()
        .click()
      await expect.poll(() => dialog().getByRole('radio').count()).toBe(3)
      await dialog().getByLabel('It happened — record this response').check()
      await dialog().getByLabel('Status').fill('201')
      await dialog().getByLabel('Body').fill('{"id": "ride_9"}')
      await dialog().getByRole('button', { name: 'Settle' }).click()
      // Without a note the browser does not send it.
      expect(world.admin.effects).toBe(0)
      await dialog().getByLabel('Note').fill('seen at the provider')
      await dialog().getByRole('button', { name: 'Settle' }).click()
      await said('Settled: happened.')
      await page.getByRole('link', { name: 'Settled' }).click()
      await page.getByText('seen at the provider').waitFor()
    })

    it('D-42, D-52, D-53 acts on many; nothing moves while rows are selected', async () => {
      await page.goto(url('stuck'))
      await rows().first().waitFor()
      await page.getByLabel('Select all on this page').check()
      await page.locator('.held').waitFor()
      const asked = () => world.asked.filter((one) => one.includes('api/requests?')).length
      const before = asked()
      const extra = requestIn('finished')
      extra.state = 'stuck'
      await page.getByRole('button', { name: 'Resume now' }).click()
      await dialog().getByLabel('To confirm, type 2').fill('2')
      await dialog().getByLabel('Reason').fill('after the outage')
      expect(asked()).toBe(before)
      await dialog().getByRole('button', { name: 'Resume now' }).click()
      await dialog().getByText('Over: 2 of 2').waitFor()
      await dialog().getByRole('button', { name: 'Close' }).click()
      expect(extra.state).toBe('stuck')
      expect(world.admin.audits[0]).toMatchObject({ action: 'batch_resume' })
    })

    it('D-42 finds new rows behind a button', async () => {
      await page.goto(url('requests'))
      await rows().first().waitFor()
      const first = await rows().first().locator('a').textContent()
      const [newest] = world.admin.requests
      if (newest === undefined) throw new Error('There is none.')
      world.admin.requests.unshift({ ...newest, id: 'new', key: 'a-new-key' })
      await page.getByRole('button', { name: 'Show 1 new' }).waitFor()
      await expect.poll(() => rows().first().locator('a').textContent()).toBe(first)
      await page.getByRole('button', { name: 'Show 1 new' }).click()
      await rows().first().locator('a', { hasText: 'a-new-key' }).waitFor()
    })

    it('D-41, D-44 pauses, and then nothing is asked', async () => {
      await page.goto(url(''))
      await page.locator('.status[data-connection="live"]').waitFor()
      await choose('Updates', 'paused')
      await page.locator('.status[data-connection="paused"]').waitFor()
      await expect.poll(() => world.streams()).toBe(0)
      const before = world.asked.length
      // Long enough for many updates, had there been any.
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 1500)))
      await page.evaluate(() => dispatchEvent(new Event('focus')))
      expect(world.asked.slice(before)).toEqual([])
      await page.reload()
      await page.locator('.status[data-connection="paused"]').waitFor()
      await choose('Updates', '2')
      await page.locator('.status[data-connection="polling"]').waitFor()
    })

    it('D-44 sees that the store is down, and that it is back', async () => {
      await page.goto(url('workers'))
      await page.locator('.status[data-connection="live"]').waitFor()
      world.admin.mood = 'error'
      await page.locator('.status[data-connection="down"]').waitFor()
      world.admin.mood = 'seeded'
      await page.locator('.status[data-connection="live"]').waitFor()
    })

    it('D-43 has one stream for all tabs, and another tab takes over', async () => {
      await page.goto(url(''))
      await page.locator('.status[data-connection="live"]').waitFor()
      const second = await page.context().newPage()
      await second.goto(url('workers'))
      await second.locator('.status[data-connection="live"]').waitFor()
      // Both may have begun at once; then one gives way.
      await expect.poll(() => world.streams(), { timeout: WAIT_MS }).toBe(1)
      await page.close()
      await expect.poll(() => world.streams(), { timeout: WAIT_MS }).toBe(1)
      await second.locator('.status[data-connection="live"]').waitFor()
      page = second
    })

    it('D-40 asks again and again where streams do not come through, and says so', async () => {
      await page.route('**/api/events', (route) => route.abort())
      await page.goto(url(''))
      await page.locator('.status', { hasText: 'Polling every 5 s' }).waitFor()
    })

    it('A-02, A-03 does all of it by the keyboard', async () => {
      await page.goto(url(''))
      await page.locator('.tile').first().waitFor()
      await page.keyboard.press('Tab')
      await page.waitForFunction(() => document.activeElement?.textContent === 'Skip to content')
      await page.keyboard.press('Enter')
      await page.waitForFunction(() => document.activeElement?.id === 'main')
      await page.keyboard.press('g')
      await page.keyboard.press('s')
      await rows().first().waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('k')
      await page.keyboard.press('x')
      await page.getByText('1 selected').waitFor()
      await page.keyboard.press('x')
      await page.keyboard.press('j')
      await page.keyboard.press('Enter')
      await page.locator('.timeline').waitFor()
      await page.keyboard.press('r')
      await dialog().waitFor()
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'detached' })
      await page.keyboard.press('r')
      await dialog().getByLabel('Reason').focus()
      await page.keyboard.type('by hand')
      await page.keyboard.press('Enter')
      await said('Done: resume.')
      await page.keyboard.press('/')
      await page.waitForFunction(() => document.activeElement?.id === 'search')
    })

    it('A-02 gets focus back after a dialog, and sees where it is', async () => {
      await page.goto(url('workers'))
      const help = page.getByRole('button', { name: 'Help', exact: true })
      await help.focus()
      await page.keyboard.press('Enter')
      await dialog().waitFor()
      await page.keyboard.press('Escape')
      await page.waitForFunction(() => document.activeElement?.textContent === 'Help')
      const outline = await help.evaluate((one) => getComputedStyle(one).outlineWidth)
      expect(outline).toBe('3px')
    })

    it('A-03 switches shortcuts off', async () => {
      await page.goto(url('workers'))
      await page.locator('main h1').waitFor()
      await page.keyboard.press('?')
      await dialog().getByLabel('Use shortcuts of a single letter').uncheck()
      await page.keyboard.press('Escape')
      await dialog().waitFor({ state: 'detached' })
      await page.keyboard.press('t')
      await page.keyboard.press('?')
      expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBeUndefined()
      await expect.poll(() => dialog().count()).toBe(0)
    })

    it('A-14 copies on plain HTTP too, and hears of it', async () => {
      await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'clipboard'))
      const { id, key } = requestIn('finished')
      await page.goto(url(`requests/${id}`))
      await page.getByRole('button', { name: 'Copy key', exact: true }).click()
      await said('Copied')
      await page.locator('#search').focus()
      await page.keyboard.press('Control+V')
      await expect.poll(() => page.locator('#search').inputValue()).toBe(key)
    })

    it('D-30 copies a curl without anything secret', async () => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      const { id, key } = requestIn('stuck')
      await page.goto(url(`requests/${id}`))
      await page.getByRole('button', { name: 'Copy as curl' }).click()
      await said('Copied')
      const curl = await page.evaluate(() => navigator.clipboard.readText())
      expect(curl).toContain(`-H 'Idempotency-Key: ${key}'`)
      expect(curl).toContain(`-H 'Authorization: ***'`)
    })

    it('A-12 is not fooled by what is stored', async () => {
      const evil = world.admin.requests[3]
      for (const path of ['', 'requests', `requests/${evil?.id}`, 'jobs', 'person', 'conflicts']) {
        await page.goto(url(path))
        await page.locator('main h1').waitFor()
        await page.waitForFunction(() => document.querySelector('main .loading') === null)
        expect(await page.locator('main img').count()).toBe(0)
        expect(await page.title()).toContain('· staging · reprise')
      }
    })

    it('D-67 who may only look finds nothing to press', async () => {
      const readOnly = createDashboard({ admin: world.admin, unsafeNoAuth: true, readOnly: true })
      const server = await listen(dashboardListener(readOnly))
      const at = (path: string) => `http://127.0.0.1:${server.port}/${path}`
      await page.goto(at('workers'))
      await page.getByText('Read-only').first().waitFor()
      await page.locator('.card').first().waitFor()
      expect(await page.getByRole('button', { name: /Pause|Run once/ }).count()).toBe(0)
      await page.goto(at('requests'))
      await rows().first().waitFor()
      expect(await page.locator('table input').count()).toBe(0)
      await page.goto(at(`requests/${requestIn('stuck').id}`))
      await page.getByText('This dashboard is read-only.').waitFor()
      await server.close()
    })

    it('D-62 is told where it is mounted when the path is wrong', async () => {
      const wrong = createDashboard({
        admin: world.admin,
        unsafeNoAuth: true,
        basePath: '/elsewhere',
      })
      const listener = dashboardListener(wrong)
      const server = await listen((request, response) => {
        if (request.url?.startsWith('/elsewhere'))
          return void response.writeHead(404).end('Nothing')
        listener(request, response)
      })
      await page.goto(`http://127.0.0.1:${server.port}/requests`)
      await page
        .getByText(
          'to be mounted at /elsewhere/, the browser sees /requests. Set the option basePath',
        )
        .waitFor()
      await server.close()
    })

    it('D-62 is told when the page loads and its API does not', async () => {
      await page.route('**/api/**', (route) =>
        route.fulfill({ status: 200, contentType: 'text/html', body: '<h1>Some other app</h1>' }),
      )
      await page.goto(url('workers'))
      await page.getByText('mounted at /a/b/, the browser sees /a/b/workers').waitFor()
    })
  },
)
