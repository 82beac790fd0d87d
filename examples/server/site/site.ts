/**
 * What the server answers itself: pages for people, health, metrics, documentation, and what the demo
 * shows.
 *
 * @module
 */

import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { PROMETHEUS_CONTENT_TYPE } from 'reprise/telemetry'
import type { ApiSpec } from '../apis.ts'
import { errorPages } from '../error-pages.ts'
import { readLedger } from '../ledger.ts'
import type { Node } from '../node.ts'
import { documentApis } from '../openapi/document.ts'
import type { Services } from '../supervision/services.ts'
import { docsPage } from './docs.ts'
import { landingPage } from './landing.ts'
import { html, json, type Pages, plain, type Reply } from './reply.ts'
import { STYLE } from './style.ts'

/** What the site shows. */
export interface SiteParts {
  readonly node: Node
  readonly services: Services
  readonly apis: readonly ApiSpec[]
  /** Where clients reach the server, without a slash at its end. */
  readonly url: string
  readonly isDemo: boolean
}

/** How long the database may take to say that it is there, in milliseconds. */
const READY_MS_MAX = 2000

/** The server's own pages. */
export function createSite(parts: SiteParts): Pages {
  const { node, apis, url, isDemo } = parts
  const document = documentApis(apis, url)
  return {
    'GET /': () => html('Reprise: the reference server', landingPage(apis, isDemo)),
    'GET /docs': () => html('The APIs', docsPage(document)),
    'GET /openapi.json': () => json(document),
    'GET /style.css': () => plain(STYLE, 'text/css; charset=utf-8'),
    'GET /health/live': () => json({ status: 'ok', pid: process.pid }),
    'GET /health/ready': () => ready(node),
    'GET /metrics': async () => {
      await node.metrics.refresh()
      return plain(node.metrics.text(), PROMETHEUS_CONTENT_TYPE)
    },
    ...errorPages(apis),
    ...(isDemo && demoPages(parts)),
  }
}

/** Whether requests can be served, which takes the database. */
async function ready({ pool }: Node): Promise<Reply> {
  const asked = pool.query('select 1').then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const late = delay(READY_MS_MAX, `no answer within ${READY_MS_MAX} ms`, { ref: false })
  const problem = await Promise.race([asked, late])
  if (problem === undefined) return json({ status: 'ok', database: 'ok' })
  return json({ status: 'unavailable', database: problem }, 503)
}

function demoPages({ node, services, apis }: SiteParts): Pages {
  const { pool, stripe } = node
  const switches = `${services.simulator.controlUrl}/switches`
  const pass = async (asked: Promise<Response>): Promise<Reply> => {
    const response = await asked
    return json(await response.json(), response.status)
  }
  return {
    'GET /demo/ledger': async () => json(await readLedger({ pool, stripe, services, apis })),
    'GET /demo/provider': () => pass(fetch(switches)),
    'PUT /demo/provider': async (request) => {
      return pass(fetch(switches, { method: 'PUT', body: await text(request) }))
    },
  }
}
