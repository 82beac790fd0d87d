/**
 * The pages of the errors, for an API to serve under its own address: HTML for people, JSON and Markdown
 * for programs. Everything that they say is in the table of errors and in the explanations beside it.
 *
 * @module
 */

import { CLIENT_ERROR_CODES, ERROR_CODES, type ErrorCode } from '../core/error-code.ts'
import { ERRORS } from '../core/error-table.ts'
import { isClientErrorCode } from '../core/errors.ts'
import type { ErrorFormat } from '../core/problem.ts'
import { EXPLANATIONS, type Explanation } from './explanations.ts'
import { htmlOf, type PageLinks, STYLE_SOURCE } from './html.ts'
import { markdownOf } from './markdown.ts'

/** What is asked for, and for whom. */
export interface ErrorPageOptions {
  /**
   * The `Accept` header of the request: `application/json` and `text/markdown` are given to those who ask
   * for them.
   *
   * @default HTML
   */
  readonly accept?: string | null | undefined
  /**
   * Whose pages they are. `clients` are told of the codes that clients see, and what a client can do;
   * `everyone` also of the codes that the server throws, and what its developers and operators can do.
   *
   * @default 'clients'
   */
  readonly audience?: 'clients' | 'everyone'
  /**
   * The dialect of the routes, for its statuses.
   *
   * @default the dialect `ietf`
   */
  readonly dialect?: { readonly errors: Pick<ErrorFormat, 'statuses'> }
  /**
   * What leads from the page to the folder of the pages, with a slash at its end.
   *
   * @default nothing: a page is at `<folder>/<code>`, and links to the others by their codes alone
   */
  readonly base?: string
  /**
   * A link above the page.
   *
   * @default none
   */
  readonly home?: { readonly href: string; readonly text: string }
}

/** An answer, for any framework to send. */
export interface ErrorPage {
  /** 200, or 404 for a code that there is no page for. */
  readonly status: number
  /** `Content-Type`, and what keeps a page from loading anything. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One error, as the pages have it. The members of {@link Explanation} are Markdown. */
export interface DescribedError extends Partial<Explanation> {
  readonly code: ErrorCode
  /** HTTP status. */
  readonly status: number
  readonly title: string
  /** Whether sending the same request again, with the same key, can succeed. */
  readonly retryable: boolean
  /** What to do next. */
  readonly hint: string
  /** What happened. */
  readonly happened: string
}

/** What a page shows: one error, all of them, or that there is no such error. */
export interface ErrorPageContent extends PageLinks {
  readonly kind: 'one' | 'all' | 'none'
  /** The code that was asked for. */
  readonly asked: string | undefined
  /** What is shown in full. */
  readonly shown: readonly DescribedError[]
  /** Every error that has a page. */
  readonly errors: readonly DescribedError[]
}

/**
 * The page of a code, or of all codes. Serve it at `<folder>` and `<folder>/<code>`, and set `docsUrl` to
 * the address of the folder, with a slash at its end: the `type` of a problem then leads to its page.
 *
 * @param code - the last part of the path; nothing for the page with all of them
 *
 * @example
 * ```ts
 * app.get(['/errors', '/errors/:code'], (req, res) => {
 *   const { status, headers, body } = errorPage(req.params.code, { accept: req.get('Accept') })
 *   res.status(status).set(headers).send(body)
 * })
 * ```
 */
export function errorPage(code: string | undefined, options: ErrorPageOptions = {}): ErrorPage {
  const errors = errorsOf(options)
  const shown = code === undefined ? errors : errors.filter((error) => error.code === code)
  const kind = code === undefined ? 'all' : shown.length === 0 ? 'none' : 'one'
  const { base = '', home } = options
  const content: ErrorPageContent = { kind, asked: code, shown, errors, base, home }
  const { type, write } = preferred(options.accept ?? '')
  return {
    status: kind === 'none' ? 404 : 200,
    headers: { 'Content-Type': type, Vary: 'Accept', ...GUARDS },
    body: write(content),
  }
}

/** Nothing is loaded, run or framed; the style is the page's own. */
const GUARDS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    ...["default-src 'none'", `style-src '${STYLE_SOURCE}'`, 'img-src data:'],
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
}

function errorsOf({ audience = 'clients', dialect }: ErrorPageOptions): readonly DescribedError[] {
  const isForClients = audience === 'clients'
  const codes: readonly ErrorCode[] = isForClients ? CLIENT_ERROR_CODES : ERROR_CODES
  return codes.map((code) => {
    const { title, retryable, hint, ...entry } = ERRORS[code]
    const ofDialect = isClientErrorCode(code) ? dialect?.errors.statuses[code] : undefined
    const { happened, client, ...forOthers } = EXPLANATIONS[code]
    return {
      ...{ code, status: ofDialect ?? entry.status, title, retryable, hint, happened },
      ...(client === undefined ? {} : { client }),
      ...(isForClients ? {} : forOthers),
    }
  })
}

interface Format {
  readonly media: string
  readonly type: string
  readonly write: (content: ErrorPageContent) => string
}

const HTML: Format = { media: 'text/html', type: 'text/html; charset=utf-8', write: htmlOf }

/** In the order of preference among those that are as welcome. */
const FORMATS: readonly Format[] = [
  HTML,
  { media: 'application/json', type: 'application/json', write: jsonOf },
  { media: 'text/markdown', type: 'text/markdown; charset=utf-8', write: markdownOf },
]

/** The format that is most welcome; HTML where none of them is. */
function preferred(accept: string): Format {
  const weights = FORMATS.map(({ media }) => weightOf(media, accept))
  const highest = Math.max(...weights)
  return (highest > 0 ? FORMATS[weights.indexOf(highest)] : undefined) ?? HTML
}

/** How welcome a type is, from 0 to 1: what an `Accept` header says of the nearest range. */
function weightOf(media: string, accept: string): number {
  const ranges = new Map(
    accept.split(',').map((text) => {
      const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return [range, weight === undefined ? 1 : Number(weight.slice(2))] as const
    }),
  )
  const [kind] = media.split('/')
  return ranges.get(media) ?? ranges.get(`${kind}/*`) ?? ranges.get('*/*') ?? 0
}

function jsonOf({ kind, asked, shown }: ErrorPageContent): string {
  if (kind === 'none') return JSON.stringify({ error: `There is no error ${asked}.` })
  return JSON.stringify(kind === 'one' ? shown[0] : { errors: shown })
}
