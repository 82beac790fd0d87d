/**
 * The flags that say what is sent.
 *
 * @module
 */

import { METHODS } from 'node:http'
import type { Context, Flag } from '../command.ts'
import { usage } from '../errors.ts'
import type { Asked } from './exchange.ts'

/** What is sent, to whom. */
export const REQUEST_FLAGS: readonly Flag[] = [
  {
    ...{ name: 'method', short: 'X', type: 'text', value: '<method>', default: 'POST' },
    summary: 'Method',
  },
  {
    ...{ name: 'header', short: 'H', type: 'text', value: '<line>', isMany: true },
    summary: 'Header "Name: value"; several times',
  },
  {
    ...{ name: 'data', short: 'd', type: 'text', value: '<body>', default: '{}' },
    summary: 'Body; - reads stdin',
  },
  {
    ...{ name: 'key-header', type: 'text', value: '<name>', default: 'Idempotency-Key' },
    summary: 'Header of the key',
  },
  {
    ...{ name: 'timeout', type: 'duration', value: '<time>', default: '30s' },
    summary: 'Time for one answer',
  },
]

/**
 * The request that the line describes, without its key.
 *
 * @throws CliError `REPRISE_E_USAGE`
 */
export async function readRequest({
  args,
  flags,
  io,
}: Context): Promise<Asked & { keyHeader: string }> {
  const method = (flags.text('method') ?? 'POST').toUpperCase()
  if (!METHODS.includes(method)) throw usage(`--method: "${method}" is no method.`)
  const given = flags.text('data') ?? '{}'
  return {
    ...{ url: readUrl(args[0] ?? ''), method, headers: readHeaders(flags.many('header')) },
    body: given === '-' ? await io.stdin.all() : given,
    timeoutMs: flags.ms('timeout') ?? 30_000,
    keyHeader: headerName(flags.text('key-header') ?? 'Idempotency-Key'),
  }
}

function readUrl(text: string): URL {
  const whole = /^https?:\/\//.test(text) ? text : `http://${text}`
  if (URL.canParse(whole)) return new URL(whole)
  throw usage(`"${text}" is no URL.`, 'It looks like http://127.0.0.1:3000/charges')
}

/** Headers of `Name: value` lines. */
export function readHeaders(lines: readonly string[]): Readonly<Record<string, string>> {
  const pairs = lines.map((line) => {
    const colon = line.indexOf(':')
    if (colon < 1)
      throw usage(`--header: "${line}" is no header.`, 'It looks like "Authorization: Bearer …"')
    return [headerName(line.slice(0, colon)), line.slice(colon + 1).trim()]
  })
  return { 'Content-Type': 'application/json', ...Object.fromEntries(pairs) }
}

function headerName(name: string): string {
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return name
  throw usage(`"${name}" is no name of a header.`)
}
