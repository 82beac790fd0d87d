/**
 * The pages of the errors as Markdown.
 *
 * @module
 */

import type { DescribedError, ErrorPageContent } from './error-page.ts'

/** The page as Markdown. */
export function markdownOf({ kind, shown, errors }: ErrorPageContent): string {
  const list = errors.map(({ code, title }) => `- \`${code}\`: ${title}`).join('\n')
  if (kind === 'none') return `# There is no such error\n\n${list}\n`
  if (kind === 'one') return shown.map((error) => sectionOf(error, '#')).join('')
  return ['# Errors\n', ...shown.map((error) => sectionOf(error, '##'))].join('\n')
}

function sectionOf(error: DescribedError, heading: string): string {
  const { code, status, title, retryable, happened, hint, client, developer, operator } = error
  const again = retryable ? 'retryable' : 'not retryable'
  const advice = [
    ['Client', client],
    ['Developer', developer],
    ['Operator', operator],
  ].flatMap(([who, text]) => (text === undefined ? [] : [`- **${who}:** ${text}`]))
  return `${heading} ${code}

Status ${status} · ${again} · ${title}

${happened}

${hint}

${advice.join('\n')}
`
}
