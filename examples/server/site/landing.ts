/**
 * The first page.
 *
 * @module
 */

import type { ApiSpec } from '../apis.ts'
import { escape } from './reply.ts'

const DEMO_LINKS = [
  ['/dashboard/', 'dashboard'],
  ['/demo/ledger', 'what really happened'],
]

/** What the server has, and where. */
export function landingPage(apis: readonly ApiSpec[], isDemo: boolean): string {
  const rows = apis.map(({ name, framework, paths }) => {
    const list = paths.map((path) => `<code>${escape(path)}</code>`).join(' ')
    return `<tr><th scope="row">${escape(name)}</th><td>${escape(framework)}</td><td>${list}</td></tr>`
  })
  const links = [
    ['/docs', 'API documentation'],
    ['/openapi.json', 'OpenAPI document'],
    ['/metrics', 'metrics'],
    ['/health/ready', 'health'],
    ...(isDemo ? DEMO_LINKS : []),
  ].map(([href, text]) => `<li><a href="${href}">${text}</a></li>`)
  return `<main>
<h1>Reprise: the reference server</h1>
<p>Send the same request twice with the same <code>Idempotency-Key</code>: it takes effect once, and both get the same answer, whatever crashes in between.</p>
<h2>APIs</h2>
<div class="wide"><table>
<thead><tr><th scope="col">API</th><th scope="col">framework</th><th scope="col">paths</th></tr></thead>
<tbody>${rows.join('\n')}</tbody>
</table></div>
<h2>More</h2>
<ul>${links.join('\n')}</ul>
</main>`
}
