/**
 * Heads of Node responses: which headers they have, however they were set.
 *
 * @module
 */

import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { CapturedResponse, Delivery, Header } from '../core/response.ts'
import type { HeldCall } from './node-calls.ts'

/** The headers set on a response, as they were written, one entry per field line. */
export function headersOf(response: ServerResponse): readonly Header[] {
  // The types of Node 20 do not know it, and HTTP/2 does not have it.
  const { getRawHeaderNames } = response as { getRawHeaderNames?: () => string[] }
  const names = getRawHeaderNames?.call(response) ?? response.getHeaderNames()
  const headers: Header[] = []
  for (const name of names) {
    const value = response.getHeader(name)
    const lines = Array.isArray(value) ? value : [value]
    for (const line of lines) if (line !== undefined) headers.push([name, textOf(line)])
  }
  return headers
}

/** What an answer says besides its headers and its body. */
interface Said {
  readonly status: number
  readonly message: string | undefined
  readonly isChunked: boolean
}

/** How an answer is given, as far as that is not the usual way. */
export function deliveryOf({ status, message, isChunked }: Said): Delivery | undefined {
  const isUsual = !message || message === STATUS_CODES[status]
  if (isUsual) return isChunked ? { isChunked } : undefined
  return isChunked ? { statusMessage: message, isChunked } : { statusMessage: message }
}

/** The same answer, which was written to the response itself, past the framework. */
export function written(answer: CapturedResponse): CapturedResponse {
  return { ...answer, delivery: { ...answer.delivery, bodyForm: 'written' } }
}

/** What Node adds of its own accord is about one connection. */
const OF_CONNECTION = nameSet(['connection', 'keep-alive', 'transfer-encoding'])

/** Whether a header is about the connection and not about the answer. */
export function isOfConnection(name: string): boolean {
  return isOneOf(OF_CONNECTION, name)
}

/** Names of headers, in lower case, by their length: most others differ in that already. */
export type NameSet = ReadonlyMap<number, readonly string[]>

/** Makes a set of names. */
export function nameSet(names: readonly string[]): NameSet {
  return new Map(
    names.map(({ length }) => [length, names.filter((name) => name.length === length)]),
  )
}

/** Whether a header has one of the names, however it is spelled. */
export function isOneOf(names: NameSet, name: string): boolean {
  return names.get(name.length)?.includes(name.toLowerCase()) === true
}

/** The lines of each header, in the order and the spelling in which the names first occur. */
export function groupHeaders(
  headers: readonly Header[],
): readonly (readonly [name: string, lines: string[]])[] {
  const groups = new Map<string, readonly [name: string, lines: string[]]>()
  for (const [name, line] of headers) {
    const group = groups.get(name.toLowerCase())
    if (group === undefined) groups.set(name.toLowerCase(), [name, [line]])
    else group[1].push(line)
  }
  return [...groups.values()]
}

/** Sets headers in place of those of the same names. */
export function setHeaders(response: ServerResponse, headers: readonly Header[]): void {
  if (!headers.some(isRepeated)) {
    for (const [name, line] of headers) response.setHeader(name, line)
    return
  }
  for (const [name, lines] of groupHeaders(headers)) {
    const [first = ''] = lines
    response.setHeader(name, lines.length === 1 ? first : lines)
  }
}

/** Whether a header has a line before this one. Names of one length are few. */
function isRepeated([name]: Header, at: number, headers: readonly Header[]): boolean {
  for (let before = 0; before < at; before++) {
    const [other = ''] = headers[before] ?? []
    if (other.length === name.length && other.toLowerCase() === name.toLowerCase()) return true
  }
  return false
}

/** The same calls with these headers added to their head; `undefined` where they bring no headers. */
export function markedCalls(
  calls: readonly HeldCall[],
  marks: readonly Header[],
): readonly HeldCall[] | undefined {
  const [first] = calls
  const args = first?.[0] === 'writeHead' ? markedArgs(first[1], marks) : undefined
  return args && [['writeHead', args], ...calls.slice(1)]
}

/**
 * The same arguments of `writeHead` with these headers added, in the form that was chosen;
 * `undefined` when there are no headers among them. Setting them beforehand would not do: Node takes
 * lists only where nothing is set, and writes the lines in another order then.
 */
function markedArgs(
  args: readonly unknown[],
  marks: readonly Header[],
): readonly unknown[] | undefined {
  if (!args.some(isObject)) return undefined
  const names = new Set(marks.map(([name]) => name.toLowerCase()))
  const isOther = ([name]: readonly [unknown, unknown]) => !names.has(String(name).toLowerCase())
  return args.map((arg) => {
    if (!isObject(arg)) return arg
    if (!Array.isArray(arg)) {
      return Object.fromEntries([...Object.entries(arg).filter(isOther), ...marks])
    }
    const list: readonly unknown[] = arg
    if (isPairs(list)) return [...list.filter(isOther), ...marks]
    return [...pairsOf(list).filter(isOther), ...marks].flat()
  })
}

type Pair = readonly [name: unknown, value: unknown]

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isPairs(list: readonly unknown[]): list is readonly Pair[] {
  return list.length > 0 && list.every(Array.isArray)
}

function pairsOf(list: readonly unknown[]): readonly Pair[] {
  return list.flatMap((name, at): readonly Pair[] => (at % 2 === 0 ? [[name, list[at + 1]]] : []))
}

/** Node writes whatever it was given. */
function textOf(line: unknown): string {
  return typeof line === 'string' ? line : String(line)
}
