/**
 * The page before its script runs. It says what is wrong if the script never does.
 *
 * @module
 */

import { NAMES } from './assets.ts'
import type { Place } from './mount.ts'
import type { LabelColor } from './options.ts'
import { headers } from './reply.ts'

/** What the shell is made of. */
export interface ShellParts {
  readonly place: Place
  readonly label: string | undefined
  readonly labelColor: LabelColor
}

/** The page, for every place that is one. */
export function shell({ place, label, labelColor }: ShellParts): Response {
  const base = escaped(place.toBase)
  const title = label === undefined ? 'reprise' : `${escaped(label)} · reprise`
  const text = `<!doctype html>
<html lang="en" data-base="${base}" data-mounted-at="${escaped(place.mountedAt)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="reprise-label" content="${escaped(label ?? '')}" data-color="${labelColor}">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}assets/${NAMES.style}">
<script type="module" src="${base}assets/${NAMES.script}"></script>
<script defer src="${escaped(place.relativeBase)}assets/${NAMES.check}"></script>
</head>
<body>
<div id="app">
<main class="start">
<h1>Reprise</h1>
<p id="mount-check">Loading. If this stays, the script of this page did not arrive: it is looked for at <code>${base}assets/</code>, and this server takes the dashboard to be at <code>${escaped(place.mountedAt)}</code>. Open the address with a slash at its end, or set the option <code>basePath</code> to the path that the browser sees.</p>
<noscript><p>This page needs JavaScript. The same is to be had as JSON below <code>api/</code>, and by <code>npx reprise keys list</code>.</p></noscript>
</main>
</div>
</body>
</html>
`
  return new Response(text, { headers: headers('text/html; charset=utf-8') })
}

/** A page for people who get no further. */
export function plainPage(status: number, title: string, message: string): Response {
  const text = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${escaped(title)} · reprise</title><link rel="icon" href="data:,"></head>
<body><main><h1>${escaped(title)}</h1><p>${escaped(message)}</p></main></body>
</html>
`
  return new Response(text, { status, headers: headers('text/html; charset=utf-8') })
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
