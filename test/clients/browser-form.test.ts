import express, { type Request, type Response } from 'express'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { idempotent } from '../../src/adapters/express.ts'
import { idempotencyField } from '../../src/adapters/form-field.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { serve } from '../behaviour/api.ts'
import { Gate } from '../behaviour/gate.ts'
import { lacksChromium, useChromium } from '../support/chromium.ts'

/** A shop whose order page takes as long as the test wants. */
async function shop(where: 'before' | 'after') {
  const gate = new Gate()
  const orders: string[] = []
  const posts = new Gate()
  posts.open()
  const reprise = createReprise({ store: memoryStore(), waitMs: 20_000 })
  const protect = idempotent(reprise, { caller: () => 'session_1' })
  const parse = express.urlencoded()
  const order = async (request: Request, response: Response) => {
    orders.push(String(request.body.item))
    const number = orders.length
    await gate.pass()
    response
      .status(201)
      .send(`<title>Order ${number}</title><p>Thank you for ${orders.at(-1)}.</p>`)
  }
  const { port } = await serve((app) => {
    app.get('/', (_, response) => {
      response.send(
        `<title>Shop</title><form method="post" action="/orders">${idempotencyField()}
         <input name="item" value="a &amp; b"><button>Order</button></form>`,
      )
    })
    const arrive = (_: Request, __: Response, next: () => void) => {
      void posts.pass()
      next()
    }
    const handlers = where === 'before' ? [protect, parse, order] : [parse, protect, order]
    app.post('/orders', arrive, ...handlers)
  })
  return { url: `http://127.0.0.1:${port}/`, gate, orders, posts }
}

/** Resolves when the page after the order is shown, whatever navigations were given up before. */
async function thanked(page: Page): Promise<void> {
  await page.getByText('Thank you').waitFor()
}

const isLacking = lacksChromium('test/clients/browser-form.test.ts')

describe.skipIf(isLacking)('a form in a browser', () => {
  const browser = useChromium()

  async function open(url: string): Promise<Page> {
    const page = await browser().newPage()
    onTestFinished(() => page.close())
    await page.goto(url)
    return page
  }

  it.each(['before', 'after'] as const)(
    'that is double-clicked has one effect, and its page is shown (%s the body parser)',
    async (where) => {
      const { url, gate, orders, posts } = await shop(where)
      const page = await open(url)
      const box = await page.getByRole('button').boundingBox()
      const at = [(box?.x ?? 0) + 5, (box?.y ?? 0) + 5] as const

      // As a person does it: the first submit is on its way when the second comes.
      await page.mouse.click(...at)
      await posts.reached(1)
      await page.mouse.click(...at, { clickCount: 2 })
      await posts.reached(2)
      gate.open()
      await thanked(page)
      expect(await page.title()).toBe('Order 1')
      expect(await page.textContent('p')).toBe('Thank you for a & b.')
      expect(orders).toEqual(['a & b'])
    },
  )

  it('that is sent again by a reload shows the same page; a fresh form is a new order', async () => {
    const { url, gate, orders, posts } = await shop('after')
    gate.open()
    const page = await open(url)
    await page.getByRole('button').click()
    await thanked(page)
    const first = await page.content()
    await page.reload()
    await posts.reached(2)
    expect(await page.content()).toBe(first)
    expect(orders).toEqual(['a & b'])

    await page.goto(url)
    await page.getByRole('button').click()
    await thanked(page)
    expect(await page.title()).toBe('Order 2')
  })
})
