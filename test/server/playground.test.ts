import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { CRASH_POINTS } from '../../examples/server/faults.ts'
import { atLength } from '../support/at-length.ts'
import { lacksChromium, useChromium } from '../support/chromium.ts'
import {
  choose,
  keyOf,
  openPlayground,
  press,
  type StartedServer,
  shown,
  startServer,
} from './playground-world.ts'
import { PATIENCE } from './reference-server.ts'

// Servers are killed and started again, beside a browser, on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

/** Where the server is killed. The other points are the proof's, because each kill takes seconds. */
const KILLED_AT = atLength<typeof CRASH_POINTS>(['after-charge'], CRASH_POINTS)

const NETWORK_FAULTS = ['cut-before', 'cut-after', 'slow', 'down'] as const

let server: StartedServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.stop())

interface Told {
  readonly charges: number
  readonly faults: readonly string[]
}

/** What the provider has and what the server did for a key, asked past the page. */
async function storyOf(key: string, url = server.url): Promise<Told> {
  // Another page may have killed the server just now.
  return vi.waitFor(async () => {
    const response = await fetch(`${url}/demo/story?key=${key}`)
    const { charges, faults } = await response.json()
    return { charges: charges.length, faults }
  }, PATIENCE)
}

async function chargesFor(key: string): Promise<number> {
  return (await storyOf(key)).charges
}

/** What `Demo-Fault` calls it. */
const FAULT_NAMES = { slow: 'slow=3000', down: 'provider-down' } as const

const faultOf = (network: (typeof NETWORK_FAULTS)[number]) =>
  network === 'slow' || network === 'down' ? FAULT_NAMES[network] : network

/** Some faults have to come more than once, because others come between: a kill does, never. */
const meant = ({ charges, faults }: Told) => ({ charged: charges, faults: new Set(faults) })

const crashesIn = (verdict: string) => /and \d+ crash(es)?/.exec(verdict)?.[0]

async function serverOfTest(env: NodeJS.ProcessEnv): Promise<StartedServer> {
  const started = await startServer(env)
  onTestFinished(started.stop)
  return started
}

describe.skipIf(lacksChromium('test/server/playground.test.ts'))('the playground', () => {
  const browser = useChromium()

  async function open(hash = '', url = server.url): Promise<Page> {
    const page = await browser().newPage()
    page.setDefaultTimeout(150_000)
    onTestFinished(() => page.close())
    await openPlayground(page, `${url}/${hash}`)
    return page
  }

  it('asks nobody outside, and breaks no rule of its policy', async () => {
    const page = await browser().newPage()
    onTestFinished(() => page.close())
    const asked = new Set<string>()
    const errors: string[] = []
    page.on('request', (request) => asked.add(new URL(request.url()).origin))
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('pageerror', (error) => errors.push(error.message))
    await openPlayground(page, server.url)
    await press(page, 'Pay $20')
    expect([...asked].filter((origin) => origin !== 'null')).toEqual([new URL(server.url).origin])
    expect(errors).toEqual([])
  })

  it('has nothing against it for those who do not see or click', async () => {
    const page = await open()
    await press(page, 'Pay $20')
    await page.evaluate(axe.source)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const found = await page.evaluate(async () => {
        const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
        const { violations } = await Reflect.get(globalThis, 'axe').run(document, { runOnly: tags })
        return violations.flatMap((one: { id: string; nodes: { html: string }[] }) =>
          one.nodes.map(({ html }) => `${one.id}: ${html.slice(0, 160)}`),
        )
      })
      expect(found, colorScheme).toEqual([])
    }
  })

  it('pays, and a retry gets the same answer', async () => {
    const page = await open()
    await press(page, 'Pay $20')
    const key = await keyOf(page)
    expect(await shown(page)).toMatchObject({
      ...{ state: 'good', charges: 1, heard: ['201'] },
      text: `1 charge for key ${key.slice(0, 4)}… after 1 attempt and 0 crashes.`,
    })
    await press(page, 'Retry, same key')
    const { charges, heard } = await shown(page)
    expect({ charges, heard }).toEqual({ charges: 1, heard: ['201', '201 replayed'] })
    expect(await chargesFor(key)).toBe(1)
    // Three recovery points and the answer.
    await expect.poll(() => page.locator('#phases li[data-state="done"]').count()).toBe(4)
  })

  it('pays five times at once: one runs', async () => {
    const page = await open()
    await press(page, 'Pay ×5 at once')
    const { state, charges, heard } = await shown(page)
    expect({ state, charges }).toEqual({ state: 'good', charges: 1 })
    expect(heard.slice(0, 5).filter((words) => words === '201')).toHaveLength(1)
    expect(await chargesFor(await keyOf(page))).toBe(1)
  })

  it('refuses the key for another ride, and shows the answer and the curl', async () => {
    const page = await open()
    await press(page, 'Pay $20')
    await press(page, 'Same key, another ride')
    const { charges, heard } = await shown(page)
    expect({ charges, heard }).toEqual({ charges: 1, heard: ['201', '409'] })
    await expect.poll(() => page.getByText('the default one says 422').isVisible()).toBe(true)
    const last = page.locator('#attempts li').last()
    await last.locator('summary').click()
    const texts = await last.locator('pre').allTextContents()
    expect(texts[0]).toMatch(/^curl -i http.*\/rides/)
    expect(texts[0]).toContain(`-H 'Idempotency-Key: ${await keyOf(page)}'`)
    expect(JSON.parse(texts[1] ?? '')).toEqual({ error: expect.stringContaining('key') })
  })

  it.each(NETWORK_FAULTS)('ends with one charge when the network is %s', async (network) => {
    const page = await open()
    await choose(page, { network })
    await press(page, 'Pay $20')
    const { state, charges, heard } = await shown(page)
    expect({ state, charges }).toEqual({ state: 'good', charges: 1 })
    const first = { 'cut-before': 'no answer', 'cut-after': 'no answer', slow: '201', down: '503' }
    expect(heard[0]).toMatch(new RegExp(`^${first[network]}`))
    expect(heard.at(-1)).toMatch(/^201/)
    expect(await storyOf(await keyOf(page))).toEqual({ charges: 1, faults: [faultOf(network)] })
  })

  it.each(KILLED_AT)('ends with one charge when the server is killed at %s', async (crash) => {
    const page = await open()
    await choose(page, { crash })
    await press(page, 'Pay $20')
    const { state, charges, heard, text: verdict } = await shown(page)
    expect({ state, charges }).toEqual({ state: 'good', charges: 1 })
    expect(heard[0]).toBe('no answer')
    expect(verdict).toContain('and 1 crash.')
    expect(await chargesFor(await keyOf(page))).toBe(1)
    expect((await storyOf(await keyOf(page))).faults).toEqual([`crash=${crash}`])
    await expect
      .poll(() => page.locator('#server-log').textContent())
      .toMatch(/process \d+ died; process \d+ serves/)
  })

  it('ends with one charge for every network fault with a kill at every point', async () => {
    // Without workers, so that nobody but the client finishes a payment, however slow this machine is:
    // both faults of each payment are sure to come.
    const { url } = await serverOfTest({ REPRISE_WORKERS: '0' })
    // One page for each network fault, all at once: what one of them breaks, the others meet too.
    const lanes = NETWORK_FAULTS.map(async (network) => {
      const page = await open('', url)
      const ends: unknown[] = []
      for (const crash of KILLED_AT) {
        await choose(page, { network, crash })
        await press(page, 'Pay $20')
        const { state, text: verdict, charges } = await shown(page)
        const story = await storyOf(await keyOf(page), url)
        ends.push({ network, crash, state, charges, crashes: crashesIn(verdict), ...meant(story) })
      }
      return ends
    })
    const expected = NETWORK_FAULTS.map((network) =>
      KILLED_AT.map((crash) => ({
        ...{ network, crash, state: 'good', charges: 1, crashes: 'and 1 crash', charged: 1 },
        faults: new Set([faultOf(network), `crash=${crash}`]),
      })),
    )
    expect(await Promise.all(lanes)).toEqual(expected)
  }, 1_800_000)

  it('is finished by the completer when the client never comes back', async () => {
    const page = await open()
    await page.locator('#auto').uncheck()
    await choose(page, { crash: 'after-charge' })
    await press(page, 'Pay $20')
    await page.locator('#verdict[data-state="good"]').waitFor()
    const { charges, heard, text: verdict } = await shown(page)
    expect({ charges, heard }).toEqual({ charges: 1, heard: ['no answer'] })
    expect(verdict).toContain('The completer finished it')
  })

  it('charges twice without idempotency', async () => {
    const page = await open()
    await page.locator('#unprotected').check()
    await choose(page, { network: 'cut-after' })
    await press(page, 'Pay $20')
    const { state, charges } = await shown(page)
    expect({ state, charges }).toEqual({ state: 'bad', charges: 2 })
  })

  it('asks a person when the provider ignores keys and nobody can know', async () => {
    const page = await open()
    await page.locator('#ignores-keys').check()
    await choose(page, { crash: 'after-charge' })
    await press(page, 'Pay $20')
    await page.locator('#verdict[data-state="person"]').waitFor()
    expect((await shown(page)).charges).toBe(1)
    await expect.poll(() => page.locator('#state').textContent()).toBe('⚑ Needs a person')
  })

  it('plays the scene that its address names', async () => {
    const page = await open('#scene=cut-after')
    await page.locator('#attempts li:nth-child(2) .good').waitFor()
    expect((await shown(page)).heard).toEqual(['no answer', '201 replayed'])
  })

  it('counts one charge for each payment of a chaos run', async () => {
    const page = await open('#chaos=3&rounds=12')
    await page.locator('#chaos-text.good').waitFor()
    await expect
      .poll(() => page.locator('#chaos-text').textContent())
      .toMatch(
        /^requests 12 · attempts \d+ · crashes \d+ · charges 12 · duplicates 0 · dead letters 0 · seed 3/,
      )
  })
})

describe('the chaos run without a browser', () => {
  it('ends with 0 and a table when every key has one charge', async () => {
    const script = join(import.meta.dirname, '../../examples/playground/headless.ts')
    const asked = ['--seed', '7', '--rounds', '12', '--url', server.url]
    const child = spawn(process.execPath, ['--import', 'tsx', script, ...asked])
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(output).toMatch(/^all +12 +\d+ +0$/m)
    expect(output).toContain('charges 12 · duplicates 0')
    expect(code).toBe(0)
  })
})

describe('without REPRISE_DEMO', () => {
  it('there is no playground, and faults do nothing', async () => {
    const plain = await serverOfTest({ REPRISE_DEMO: '0' })
    const paths = [
      '/demo/events',
      '/demo/story?key=a',
      '/demo/tally?prefix=a',
      '/playground/main.ts',
    ]
    for (const path of paths) expect((await fetch(plain.url + path)).status).toBe(404)
    const post = { method: 'POST', body: '{}' }
    expect((await fetch(`${plain.url}/demo/payments/unprotected`, post)).status).toBe(404)
    expect(await (await fetch(plain.url)).text()).not.toContain('/playground/')
    const cut = await fetch(plain.url, { headers: { 'Demo-Fault': 'cut-before' } })
    expect(cut.status).toBe(200)
  })
})
