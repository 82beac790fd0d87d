/**
 * Documents and the links in them.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { posix } from 'node:path'

/** A link of a document. */
export interface FoundLink {
  /** The document, as a path below the root. */
  readonly from: string
  /** What stands in the document. */
  readonly href: string
}

/** A set of files, by their paths below a root. */
export interface FileSet {
  readonly root: string
  readonly has: (path: string) => boolean
}

/** Links, images and addresses of Markdown, and `href` and `src` of HTML. What is code is left out. */
export function linksIn(from: string, text: string): readonly FoundLink[] {
  const prose = from.endsWith('.md') ? withoutCode(text) : text
  const patterns = [
    ...(from.endsWith('.md')
      ? [/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g, /^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm]
      : []),
    /<(https?:[^>\s]+)>/g,
    /\b(?:href|src)\s*=\s*["']([^"']+)["']/g,
  ]
  return patterns.flatMap((pattern) =>
    [...prose.matchAll(pattern)].map(([, href = '']) => ({ from, href })),
  )
}

/** What is wrong with a link within a set of files; `undefined` for one that leads somewhere. */
export function faultOf({ from, href }: FoundLink, files: FileSet): string | undefined {
  if (isElsewhere(href)) return undefined
  const [path = '', anchor] = href.split('#')
  const target = path === '' ? from : posix.join(posix.dirname(from), decodeURIComponent(path))
  const said = `${from}: ${href}`
  if (path.startsWith('/') || target.startsWith('..')) return `${said} leads outside`
  if (!files.has(target)) return `${said} leads to no file`
  if (anchor === undefined) return undefined
  const anchors = anchorsOf(target, readFileSync(posix.join(files.root, target), 'utf8'))
  return anchors.has(decodeURIComponent(anchor)) ? undefined : `${said} leads to no anchor`
}

/** Whether a link has a scheme: nothing of that is followed. */
function isElsewhere(href: string): boolean {
  return /^[a-z][a-z+.-]*:/i.test(href)
}

/** The anchors of a document: those of its headings, as GitHub makes them, and those that are written. */
export function anchorsOf(path: string, text: string): ReadonlySet<string> {
  const written = [...text.matchAll(/\bid="([^"]+)"/g)].map(([, id = '']) => id)
  if (!path.endsWith('.md')) return new Set(written)
  const seen = new Map<string, number>()
  const headings = [...withoutBlocks(text).matchAll(/^#{1,6} +(.*?) *#*$/gm)]
  const made = headings.map(([, title = '']) => {
    const name = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return count === 0 ? name : `${name}-${count}`
  })
  return new Set([...written, ...made])
}

function withoutBlocks(text: string): string {
  return text.replace(/^( *)(```+|~~~+)[^]*?^\1\2 *$/gm, '')
}

function withoutCode(text: string): string {
  return withoutBlocks(text).replace(/(`+)[^`][^]*?\1/g, '')
}

/** The hosts of every address in a text. */
export function hostsIn(text: string): readonly string[] {
  const hosts = text.matchAll(/\b(?:https?|wss?|ftp):\/\/(?:[^\s/@"'`]+@)?(\[[^\]]+\]|[\w.-]+)/gi)
  return [...hosts].map(([, host = '']) => host.toLowerCase().replace(/\.$/, ''))
}
