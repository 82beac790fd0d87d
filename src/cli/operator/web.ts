/**
 * The dashboard on a port of this machine. While the store is down it shows what is wrong, and comes
 * up by itself when that is mended.
 *
 * @module
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Admin } from '../../admin/admin.ts'
import { createDashboard } from '../../dashboard/dashboard.ts'
import { dashboardListener } from '../../dashboard/node.ts'
import type { Context } from '../command.ts'
import { CliError } from '../errors.ts'
import { describeFailure, type Failure } from '../failure.ts'
import { isLoopback } from '../http/listen.ts'
import { pause } from '../io.ts'

/** What stands behind the page. */
export interface Opened {
  readonly admin: Admin
  /** Where the records are, without password. */
  readonly label: string
  close(): Promise<void>
}

/** How often the store is tried, in milliseconds. */
const RETRY_MS = 2000

/** The page, and what it stands for at the moment. */
export class Web {
  readonly #context: Context
  readonly #open: () => Promise<Opened>
  #opened: Opened | undefined
  #failure: Failure | undefined
  #dashboard: RequestListener | undefined

  /** @param open - opens the store; called again until it can */
  constructor(context: Context, open: () => Promise<Opened>) {
    this.#context = context
    this.#open = open
    checkAccess(context)
  }

  /** For the server. */
  readonly listener: RequestListener = (request, response) => {
    if (!isForUs(request, this.#context)) return refuse(response)
    if (this.#dashboard !== undefined) return this.#dashboard(request, response)
    return diagnose(response, this.#failure)
  }

  get opened(): Opened | undefined {
    return this.#opened
  }

  /**
   * Opens the store, now or as soon as it can be.
   *
   * @throws what is wrong, with `--no-retry`
   */
  async connect(): Promise<void> {
    const { flags, io, out } = this.#context
    while (!(await this.#tryOpen())) {
      if (flags.isOn('no-retry')) throw this.#cause
      if (!(await pause(io, RETRY_MS))) return
    }
    out.note(`store: ${this.#opened?.label ?? ''}`)
  }

  #cause: unknown

  async #tryOpen(): Promise<boolean> {
    const { flags, out } = this.#context
    try {
      const opened = await this.#open()
      const user = flags.text('author') ?? 'cli'
      const password = flags.text('token')
      const access =
        password === undefined
          ? { authorize: () => ({ user, can: 'all' as const }) }
          : { basicAuth: { username: user, password } }
      const dashboard = createDashboard({
        admin: opened.admin,
        ...access,
        readOnly: flags.isOn('read-only'),
      })
      this.#opened = opened
      this.#dashboard = dashboardListener(dashboard)
      return true
    } catch (error) {
      const failure = describeFailure(error)
      // What is the user's to mend on the line does not heal by waiting.
      if (failure.exit === 2) throw error
      if (this.#failure?.driver !== failure.driver || this.#failure?.message !== failure.message) {
        out.note(
          `${out.paint('yellow', 'warn')}: ${failure.message} ${failure.driver ?? ''} It is tried again.`,
        )
      }
      this.#failure = failure
      this.#cause = error
      return false
    }
  }

  async close(): Promise<void> {
    await this.#opened?.close().catch(() => {})
  }
}

/** Whoever can reach the port can do everything, so others than this machine need a password. */
function checkAccess({ flags }: Context): void {
  const host = flags.text('host') ?? ''
  if (isLoopback(host) || flags.text('token') !== undefined) return
  throw new CliError('REPRISE_E_REFUSED', `Others could reach the dashboard on ${host}.`, {
    hint: 'Leave --host out, or ask for a password: --token "$(openssl rand -hex 16)"',
  })
}

/** A page elsewhere can have its name point to this machine; it can not choose the Host header. */
function isForUs({ headers }: IncomingMessage, { flags }: Context): boolean {
  if (!isLoopback(flags.text('host') ?? '')) return true
  return isLoopback((headers.host ?? '').replace(/:\d+$/, ''))
}

function refuse(response: ServerResponse): void {
  response
    .writeHead(421, { 'Content-Type': 'text/plain' })
    .end('Use the address that was printed.\n')
}

function diagnose(response: ServerResponse, failure: Failure | undefined): void {
  const lines = [
    ['What', failure?.message ?? 'The store is being opened.'],
    ['It said', failure?.driver],
    ['Likely cause', failure?.reason],
    ['To mend it', failure?.hint],
  ].filter(([, text]) => text !== undefined)
  const rows = lines.map(([name = '', text = '']) => `<dt>${name}</dt><dd>${escaped(text)}</dd>`)
  response.writeHead(503, {
    ...{
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Retry-After': '2',
    },
    'Content-Security-Policy': `default-src 'none'; style-src 'unsafe-inline'`,
  })
  response.end(`<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<meta name="viewport" content="width=device-width"><title>Reprise: store is down</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui;max-width:40rem;margin:3rem auto;padding:0 1rem}
dt{font-weight:600;margin-top:1rem}dd{margin:0}</style>
<h1>The store can not be used</h1><p>This page looks again every two seconds and goes on by itself.</p>
<dl>${rows.join('')}</dl></html>
`)
}

function escaped(text: string): string {
  return text.replaceAll(/[<>&"']/g, (char) => `&#${char.codePointAt(0) ?? 0};`)
}
