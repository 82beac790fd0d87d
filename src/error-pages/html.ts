/**
 * The pages of the errors as HTML: no script, nothing from elsewhere, light and dark.
 *
 * @module
 */

import type { DescribedError, ErrorPageContent } from './error-page.ts'

/** Where the links of a page lead. */
export interface PageLinks {
  /** What leads from the page to the folder of the pages; empty, or with a slash at its end. */
  readonly base: string
  /** A link above the page. */
  readonly home: { readonly href: string; readonly text: string } | undefined
}

/** The style of every page. */
export const STYLE: string = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1b1f24, #e6e8eb);
  --soft: light-dark(#57606a, #9aa4af);
  --line: light-dark(#d0d7de, #3a424c);
  --back: light-dark(#ffffff, #14171b);
  --code: light-dark(#f3f5f7, #1e2329);
  --link: light-dark(#0b57d0, #8ab4f8);
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 46rem;
  font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
}
h1, h2, h3 { line-height: 1.2; }
h1 { margin: .3rem 0 1rem; }
h2 { margin: 2rem 0 .5rem; font-size: 1.2rem; }
section { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: .5rem; }
section h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; }
p { margin: .5rem 0; }
a { color: var(--link); }
code { padding: .1em .3em; border-radius: .2rem; font: .9em/1.45 ui-monospace, monospace; background: var(--code); overflow-wrap: anywhere; }
.soft { color: var(--soft); }
nav { margin-top: 2.5rem; border-top: 1px solid var(--line); }
nav ul { margin: .5rem 0; padding: 0; list-style: none; }
nav li { padding: .25rem 0; }
`

/** What a content security policy allows the style by. A test holds it and the style together. */
export const STYLE_SOURCE = 'sha256-lvzs6TlefLiXLfdpoU+HzzpFKZlOFi4C/IOZRW/DS9Q='

/** The page as HTML. */
export function htmlOf(content: ErrorPageContent): string {
  const { kind, shown, errors, base, home } = content
  const [first] = shown
  const title = kind === 'one' ? `${first?.code}` : kind === 'all' ? 'Errors' : 'No such error'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
${home === undefined ? '' : `<p><a href="${escaped(home.href)}">${escaped(home.text)}</a></p>\n`}<main>
${bodyOf(content)}
</main>
${kind === 'all' ? '' : listOf(errors, (code) => `${base}${code}`)}
</body>
</html>
`
}

function bodyOf({ kind, asked, shown, errors }: ErrorPageContent): string {
  if (kind === 'none') {
    return `<h1>There is no such error</h1>\n<p>No error has the code <code>${escaped(asked ?? '')}</code>.</p>`
  }
  if (kind === 'all') {
    const sections = shown.map((error) => {
      return `<section id="${error.code}">\n${articleOf(error, ['h2', 'h3'])}\n</section>`
    })
    return `<h1>Errors</h1>\n${listOf(errors, (code) => `#${code}`)}\n${sections.join('\n')}`
  }
  return shown.map((error) => articleOf(error, ['h1', 'h2'])).join('\n')
}

function articleOf(error: DescribedError, [top, part]: readonly ['h1' | 'h2', string]): string {
  const { code, status, title, retryable, happened, hint, client, developer, operator } = error
  const again = retryable
    ? 'Sending the same request with the same key again can succeed.'
    : 'Sending the same request with the same key again does not help.'
  // Clients are told what to do in one place; everyone, each in their own.
  const isForClients = developer === undefined
  const parts = [
    ['What happened', [happened]],
    ['What to do next', isForClients ? [hint, client] : [hint]],
    ['For clients', isForClients ? [] : [client]],
    ['For developers of the server', [developer]],
    ['For operators of the server', [operator]],
  ] as const
  const texts = parts.flatMap(([heading, paragraphs]) => {
    const said = paragraphs.flatMap((text) => text ?? [])
    if (said.length === 0) return []
    return [`<${part}>${heading}</${part}>`, ...said.map((text) => `<p>${inline(text)}</p>`)]
  })
  return `<p class="soft"><code>${code}</code> · HTTP status ${status}</p>
<${top}>${escaped(title)}</${top}>
<p>${again}</p>
${texts.join('\n')}`
}

function listOf(errors: readonly DescribedError[], hrefOf: (code: string) => string): string {
  const items = errors.map(({ code, title }) => {
    return `<li><a href="${escaped(hrefOf(code))}">${code}</a> <span class="soft">${escaped(title)}</span></li>`
  })
  return `<nav aria-label="All errors">\n<h2>All errors</h2>\n<ul>\n${items.join('\n')}\n</ul>\n</nav>`
}

/** Markdown within a line: the explanations have code in it, and nothing else. */
function inline(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
