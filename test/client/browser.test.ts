/**
 * The client in a real browser: tabs that are reloaded, networks that go away, impatient people.
 *
 * @module
 */

import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Gate } from '../behaviour/gate.ts'
import { connect, lacksChromium, reconnect, useChromium } from '../support/chromium.ts'
// Declares what the pages have as a global; nothing of it is loaded here.
import type { PageGlobals } from './browser-entry.ts'
import { type Ledger, startLedger } from './ledger.ts'

declare const page: PageGlobals

const FORM = `<title>Form</title><form method="post" action="/effects">
  <input name="op" value="form"><button>Send</button></form>`

let script: string
let ledger: Ledger
let gate = new Gate()
let posts: string[] = []

async function bundle(): Promise<string> {
  const built = await build({
    ...{ configFile: false, logLevel: 'error' },
    build: {
      write: false,
      lib: { entry: join(import.meta.dirname, 'browser-entry.ts'), formats: ['iife'], name: 'x' },
    },
  })
  const [output] = [built].flat()
  if (output === undefined || !('output' in output)) throw new Error('Nothing was built.')
  return output.output[0].code
}

const isLacking = lacksChromium('test/client/browser.test.ts')

describe.skipIf(isLacking)('in a browser', () => {
  const browser = useChromium()
  beforeAll(async () => {
    script = await bundle()
    ledger = await startLedger({
      waitMs: 10_000,
      before: () => gate.pass(),
      mount(app) {
        app.get('/', (_, response) => response.send(`${FORM}<script src="/script.js"></script>`))
        app.get('/script.js', (_, response) => response.type('js').send(script))
        app.post('/effects', (request, _, next) => {
          posts.push(request.get('Idempotency-Key') ?? 'form')
          next()
        })
      },
    })
  })
  afterAll(() => ledger.close())

  /** A browser that has never been here, and a server that lets everything through. */
  async function fresh(journal = 'localstorage') {
    const context = await browser().newContext()
    onTestFinished(() => context.close())
    gate = new Gate()
    gate.open()
    posts = []
    return { context, tab: () => open(context, journal) }
  }

  async function open(context: BrowserContext, journal: string): Promise<Page> {
    const tab = await context.newPage()
    await tab.goto(`http://127.0.0.1:${ledger.port}/?journal=${journal}`)
    await connect(tab)
    return tab
  }

  const effectsOf = async (op: string) =>
    (await ledger.effects()).filter((effect) => effect.op === op)
  const begin = (tab: Page, op: string) =>
    tab.evaluate((name) => void page.client.post('/effects', { json: { op: name } }), op)
  const resume = (tab: Page) =>
    tab.evaluate(async () => {
      const resumed = await page.client.resume()
      const statuses = resumed.map((one) => ('result' in one ? one.result.response.status : 0))
      return statuses
    })
  const states = (tab: Page) =>
    tab.evaluate(async () => (await page.client.journal.list()).map(({ state }) => state))

  /** Resolves when the tabs hold no lock: what is left of a closed or reloaded tab is gone then. */
  async function unlocked(tab: Page): Promise<void> {
    const held = () => tab.evaluate(async () => (await navigator.locks.query()).held?.length)
    await expect.poll(held).toBe(0)
  }

  describe.each(['localstorage', 'indexeddb'])('with a journal in %s', (journal) => {
    it('a tab that is reloaded in the middle of a request finishes it: one effect', async () => {
      const { tab } = await fresh(journal)
      const op = `reload-${journal}`
      gate = new Gate()
      const first = await tab()
      await begin(first, op)
      await gate.reached()
      await first.reload()
      await unlocked(first)
      expect(await states(first)).toEqual(['sent'])

      gate.open()
      expect(await resume(first)).toEqual([201])
      expect(await states(first)).toEqual(['answered'])
      expect(await effectsOf(op)).toHaveLength(1)
      expect([posts.length, new Set(posts).size]).toEqual([2, 1])
    })

    it('what is begun without a network is sent when it is back: one effect', async () => {
      const { context, tab } = await fresh(journal)
      const op = `offline-${journal}`
      const page1 = await tab()
      await context.setOffline(true)
      await begin(page1, op)
      await expect.poll(() => states(page1)).toEqual(['queued'])
      expect(posts).toEqual([])
      await reconnect(context)
      await expect.poll(() => states(page1)).toEqual(['answered'])
      expect(await effectsOf(op)).toHaveLength(1)
      expect(posts).toHaveLength(1)
    })

    it('what is left by a tab that was closed without a network is sent by the next: one effect', async () => {
      const { context, tab } = await fresh(journal)
      const op = `closed-${journal}`
      const closed = await tab()
      const other = await tab()
      await context.setOffline(true)
      await begin(closed, op)
      await expect.poll(() => states(other)).toEqual(['queued'])
      await closed.close()
      await unlocked(other)
      // The other tab hears of the network too, and nobody has to ask it.
      await reconnect(context)
      await expect.poll(() => states(other)).toEqual(['answered'])
      expect(await effectsOf(op)).toHaveLength(1)
    })

    it('two tabs that resume at the same time send it once: one effect', async () => {
      const { tab } = await fresh(journal)
      const op = `tabs-${journal}`
      gate = new Gate()
      const [one, two] = [await tab(), await tab()]
      await begin(one, op)
      await gate.reached()
      // The other tab leaves alone what this one is at work on.
      expect(await resume(two)).toEqual([])
      await one.reload()
      await unlocked(one)
      gate.open()
      const resumed = await Promise.all([resume(one), resume(two), resume(one)])
      expect(resumed.flat()).toEqual([201])
      expect(await effectsOf(op)).toHaveLength(1)
      expect(posts).toHaveLength(2)
    })
  })

  it('a double click on what has a derived key is one effect', async () => {
    const { tab } = await fresh()
    const one = await tab()
    await one.evaluate(() => {
      const order = async () => {
        const json = { op: 'double' }
        const key = await page.deriveKey('order', json)
        const { attempts } = await page.client.post('/effects', { json, key })
        document.title += ` ${attempts}`
      }
      document.querySelector('form')?.addEventListener('submit', (event) => {
        event.preventDefault()
        void order()
      })
    })
    await one.getByRole('button').dblclick()
    await expect.poll(() => one.title()).toMatch(/^Form \d \d$/)
    expect(await effectsOf('double')).toHaveLength(1)
    expect(new Set(posts).size).toBe(1)
  })

  describe('a form that is protected', () => {
    const protect = (tab: Page) =>
      tab.evaluate(() => {
        const form = document.querySelector('form')
        if (form !== null) Object.assign(globalThis, { guarded: page.protectForm(form) })
      })
    const keyOf = (tab: Page) => tab.inputValue('[name=idempotency_key]')

    it('is sent once when it is double-clicked, and shows its answer', async () => {
      const { tab } = await fresh()
      gate = new Gate()
      const one = await tab()
      await one.fill('[name=op]', 'clicks')
      await protect(one)
      const box = await one.getByRole('button').boundingBox()
      const at = [(box?.x ?? 0) + 5, (box?.y ?? 0) + 5] as const
      await one.mouse.click(...at)
      await gate.reached()
      await one.mouse.click(...at, { clickCount: 2 })
      gate.open()
      await one.getByText('"op":"clicks"').waitFor()
      expect(await effectsOf('clicks')).toHaveLength(1)
      expect(posts).toHaveLength(1)
    })

    it('has the same key when it is sent again unchanged, and another when it was changed', async () => {
      const { tab } = await fresh()
      const one = await tab()
      await protect(one)
      // A page that sends the form itself.
      const sent = await one.evaluateHandle(() => {
        const keys: unknown[] = []
        document.querySelector('form')?.addEventListener('submit', (event) => {
          event.preventDefault()
          const form = event.target
          if (form instanceof HTMLFormElement) keys.push(new FormData(form).get('idempotency_key'))
        })
        return keys
      })
      const first = await keyOf(one)
      expect(first).toMatch(/^[0-9a-f-]{36}$/)
      const submit = async (count: number) => {
        await one.getByRole('button').click()
        await expect.poll(() => sent.evaluate((keys) => keys.length)).toBe(count)
      }
      await submit(1)
      await submit(2)
      await one.fill('[name=op]', 'changed')
      await submit(3)
      const keys = await sent.jsonValue()
      expect([keys[0], keys[1]]).toEqual([first, first])
      expect(keys[2]).toMatch(/^[0-9a-f-]{36}$/)
      expect(keys[2]).not.toBe(first)

      await one.evaluate(() => Reflect.get(globalThis, 'guarded').renew())
      expect(await keyOf(one)).not.toBe(keys[2])
      await one.evaluate(() => Reflect.get(globalThis, 'guarded').remove())
      const kept = await keyOf(one)
      await one.fill('[name=op]', 'changed again')
      await submit(4)
      expect(await keyOf(one)).toBe(kept)
    })

    it('keeps the key that the server has rendered', async () => {
      const { tab } = await fresh()
      const one = await tab()
      await one.evaluate(() => {
        const field = '<input type="hidden" name="idempotency_key" value="from-the-server">'
        document.querySelector('form')?.insertAdjacentHTML('beforeend', field)
      })
      await protect(one)
      expect(await keyOf(one)).toBe('from-the-server')
      await expect.poll(() => one.locator('[name=idempotency_key]').count()).toBe(1)
    })

    it('shown again by the back button is sent again with its key: one effect', async () => {
      const { tab } = await fresh()
      const one = await tab()
      await one.fill('[name=op]', 'back')
      await protect(one)
      const key = await keyOf(one)
      await one.getByRole('button').click()
      await one.getByText('"op":"back"').waitFor()
      const first = await one.textContent('body')
      await one.goBack()
      // A page that was not kept has to be protected again; browsers fill its fields in as they were.
      if ((await one.locator('[name=idempotency_key]').count()) === 0) {
        await one.fill('[name=op]', 'back')
        await protect(one)
        await one.evaluate((value) => {
          const field = document.querySelector('[name=idempotency_key]')
          if (field instanceof HTMLInputElement) field.value = value
        }, key)
      }
      await one.getByRole('button').click()
      await one.getByText('"op":"back"').waitFor()
      expect(await one.textContent('body')).toBe(first)
      expect(await effectsOf('back')).toHaveLength(1)
    })
  })
})
