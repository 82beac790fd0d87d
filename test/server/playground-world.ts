/**
 * The reference server as `npm start` runs it, and the playground in a browser.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Page } from 'playwright-core'
import { temporaryDatabase } from '../support/postgres.ts'

const ROOT = join(import.meta.dirname, '../..')

/** A server that runs. */
export interface StartedServer {
  readonly url: string
  stop(): Promise<void>
}

/** Starts the server on a database of its own. */
export async function startServer(env: NodeJS.ProcessEnv = {}): Promise<StartedServer> {
  const database = await temporaryDatabase()
  const directory = mkdtempSync(join(tmpdir(), 'reprise-playground-'))
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/server/main.ts'], {
    cwd: ROOT,
    env: {
      ...{ ...process.env, DATABASE_URL: database.url, REPRISE_DATA: directory, PORT: '0' },
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    rmSync(directory, { recursive: true, force: true })
    await database.drop()
  }
  return { url: await urlOf(child), stop }
}

async function urlOf({ stdout, stderr }: ChildProcess): Promise<string> {
  if (stdout === null || stderr === null) throw new Error('The server has no output.')
  let said = ''
  stderr.on('data', (chunk) => {
    said += chunk
  })
  return new Promise((resolve, reject) => {
    const lines = createInterface(stdout)
    lines.on('line', (line) => {
      const url = /^Reprise serves on (\S+)$/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
    lines.on('close', () => reject(new Error(`The server did not start: ${said}`)))
  })
}

/** What is wrong on the way of a payment. */
export interface Trouble {
  readonly network?: string
  readonly crash?: string
}

/** Opens the page and waits until it hears the server. */
export async function openPlayground(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.locator('#process[data-state="up"]').waitFor()
}

/** Chooses what goes wrong. */
export async function choose(page: Page, { network = 'fine', crash = '' }: Trouble): Promise<void> {
  await page.locator(`input[name="network"][value="${network}"]`).check()
  await page.locator(`input[name="crash"][value="${crash}"]`).check()
}

/**
 * Presses a button and waits until everything that it began is over: as long as the test may take, for
 * others may kill the server meanwhile, and a busy machine starts it slowly.
 */
export async function press(page: Page, button: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.locator('body[data-busy="false"]').waitFor({ timeout: 0 })
}

/** What the page says about the payment at hand. */
export interface Shown {
  readonly state: string
  readonly text: string
  readonly charges: number
  /** What was heard of each attempt. */
  readonly heard: readonly string[]
}

/** Reads it off the page. */
export async function shown(page: Page): Promise<Shown> {
  const heard = await page.locator('#attempts summary').allTextContents()
  return {
    state: (await page.locator('#verdict').getAttribute('data-state')) ?? '',
    text: (await page.locator('#verdict-text').textContent()) ?? '',
    charges: Number(await page.locator('#charge-count').textContent()),
    heard: heard.map((line) => line.replace(/^.*→ /, '').replace(/,? \d+ ms$/, '')),
  }
}

/** The key of the payment at hand. */
export async function keyOf(page: Page): Promise<string> {
  return (await page.locator('#key').textContent()) ?? ''
}
