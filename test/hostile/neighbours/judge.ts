/**
 * Judges a world: the answer without protection, the first answer and the replay are the same, and the
 * handler ran once. What may differ is declared here.
 *
 * @module
 */

import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { createReprise } from '../../../src/engine/reprise.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Adapters, Framework, World } from './world.ts'

/** An answer as it came over the wire. */
interface Answer {
  readonly status: number
  readonly message: string
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** Without its content coding. */
  readonly body: string
}

/** Frame one message, or are marks of the protection. */
const IGNORED =
  /^(?:date|connection|keep-alive|transfer-encoding|content-length|original-request-id|idempoten.*)$/

/** Are made anew for each sending: a replay has them from the neighbours in front, or not at all. */
const OF_ONE_SENDING =
  /^(?:set-cookie|x-powered-by|x-response-time|server-timing|x-request-id|(?:x-)?ratelimit.*|access-control-.*)$/

/** What a header says that two answers may be compared by. */
function comparable(name: string, lines: readonly string[]): string {
  // The value of a cookie may be made by chance; its name is not.
  if (name === 'set-cookie')
    return lines
      .map((line) => line.split('=', 1).join(''))
      .toSorted((one, other) => one.localeCompare(other))
      .join()
  if (OF_ONE_SENDING.test(name) && !name.startsWith('access-control-')) return 'present'
  if (name === 'vary')
    return lines
      .join()
      .toLowerCase()
      .split(/\s*,\s*/)
      .toSorted((one, other) => one.localeCompare(other))
      .join()
  return lines.join('\n')
}

/** What is wrong in a world; `undefined` where everything is as it should be. */
export async function violationIn(
  world: World,
  framework: Framework,
  adapters: Adapters,
): Promise<string | undefined> {
  let effects = 0
  const onEffect = () => void effects++
  const reprise = createReprise({ store: memoryStore() })
  const twin = await framework.serve({ world, adapters, reprise: null, onEffect: () => {} })
  const served = await framework.serve({ world, adapters, reprise, onEffect })
  const agents = [twin, served].map(() => new Agent({ keepAlive: true }))
  const ask = (port: number, headers: Headers) => {
    const agent = agents[port === twin.port ? 0 : 1]
    return answerTo(port, world.client.keepAlive ? agent : undefined, headers)
  }
  try {
    const headers = await headersFor(world, (given) => ask(twin.port, given))
    const plain = await ask(twin.port, headers)
    // Neighbours that break each other without us are no business of ours.
    if (plain === undefined) return undefined
    const first = await ask(served.port, headers)
    const again = await ask(served.port, headers)
    const uncoded = await ask(served.port, without(headers, 'Accept-Encoding'))
    const wrong = [...differences({ world, plain, first, again, uncoded })]
    if (effects !== 1) wrong.push(`the handler ran ${effects} times`)
    return wrong.length === 0 ? undefined : wrong.join('; ')
  } finally {
    for (const agent of agents) agent.destroy()
    await Promise.all([twin.close(), served.close()])
  }
}

type Headers = Readonly<Record<string, string>>

function without(headers: Headers, name: string): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))
}

async function headersFor(
  { client }: World,
  ask: (headers: Headers) => Promise<Answer | undefined>,
): Promise<Headers> {
  const { acceptEncoding, ifNoneMatch } = client
  const headers = {
    'Content-Type': 'application/json',
    'Idempotency-Key': 'neighbours',
    Origin: 'http://app.example',
    ...(acceptEncoding === null ? {} : { 'Accept-Encoding': acceptEncoding }),
  }
  const [tag] = (ifNoneMatch ? (await ask(headers))?.headers.get('etag') : undefined) ?? []
  return tag === undefined ? headers : { ...headers, 'If-None-Match': tag }
}

interface Answers {
  readonly world: World
  readonly plain: Answer
  readonly first: Answer | undefined
  readonly again: Answer | undefined
  readonly uncoded: Answer | undefined
}

function* differences({ world, plain, first, again, uncoded }: Answers): Iterable<string> {
  if (first === undefined) return yield 'the first answer was cut'
  yield* between('first', plain, first, () => false)
  if (again === undefined || uncoded === undefined) return yield 'the replay was cut'
  if (plain.status >= 500) {
    // What failed with an effect that nobody knows is not run again. A neighbour in front that fails at the
    // answer fails at the replay too.
    const isSameFailure = again.status === plain.status && !world.way.startsWith('throw')
    if (again.status !== 409 && !isSameFailure) yield `a retry of a failure got ${again.status}`
    return
  }
  if (!again.headers.has('idempotent-replayed')) return yield `no replay but ${again.status}`
  // A neighbour behind the protection does not see the replay, and the handler neither.
  const mayLack = world.behind.length > 0 || world.way === 'several cookies'
  const isThrown = world.way.startsWith('throw')
  const isDeclared = (name: string) =>
    (OF_ONE_SENDING.test(name) && (mayLack || isThrown)) || isOfFramework(world, name)
  yield* between('replay', plain, again, isDeclared)
  if (uncoded.body !== again.body) yield 'replay without Accept-Encoding: another body'
  if (uncoded.body !== '' && uncoded.headers.has('content-encoding'))
    yield 'replay without Accept-Encoding: coded'
}

/** Differences of single neighbours that are declared in the guide. */
function isOfFramework({ framework, way, before }: World, name: string): boolean {
  // What a middleware in front gives to `c.header()` Hono lays over answers that are made by the context. A
  // replay is one; a response that the handler made by itself, or threw, is none.
  const isOwnResponse = /^(?:throw|a Response)/.test(way)
  if (framework === 'Hono' && isOwnResponse) return /^x-(?:neighbour|request-id)$/.test(name)
  // Makes the tag of a file from its place on the disk, which a replay does not have.
  return way === 'file' && before.includes('@koa/etag') && name === 'etag'
}

/** How one answer differs from that without protection. */
function* between(
  label: string,
  plain: Answer,
  other: Answer,
  isDeclared: (name: string) => boolean,
): Iterable<string> {
  if (other.status !== plain.status) yield `${label}: ${other.status}, not ${plain.status}`
  if (other.message !== plain.message) yield `${label}: ${other.message}, not ${plain.message}`
  if (other.body !== plain.body) {
    yield `${label}: body ${start(other.body)}, not ${start(plain.body)}`
  }
  for (const name of new Set([...plain.headers.keys(), ...other.headers.keys()])) {
    if (IGNORED.test(name) || isDeclared(name)) continue
    const [expected, found] = [plain, other].map(({ headers }) => {
      const lines = headers.get(name)
      return lines === undefined ? 'none' : comparable(name, lines)
    })
    if (expected !== found) yield `${label}: ${name} is ${found}, not ${expected}`
  }
}

function start(body: string): string {
  return JSON.stringify(body.length > 60 ? `${body.slice(0, 60)}…` : body)
}

const BODY = '{"a":1}'
/** Nothing here takes longer than a few turns of the event loop. */
const PATIENCE_MS = 20_000

/** Asks; `undefined` where the connection is cut. */
function answerTo(
  port: number,
  agent: Agent | undefined,
  headers: Headers,
): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path: '/t', method: 'POST', headers }
    const connection = agent === undefined ? { agent: false as const } : { agent }
    const length = { 'Content-Length': String(BODY.length) }
    const sent = request({ ...options, ...connection, headers: { ...headers, ...length } })
    sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error('no answer')))
    sent.on('error', (error) =>
      error.message === 'no answer' ? reject(error) : resolve(undefined),
    )
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => resolve(undefined))
      response.on('end', () => {
        const { statusCode: status = 0, statusMessage: message = '' } = response
        const body = decoded(Buffer.concat(chunks), response.headers)
        resolve({ status, message, headers: linesOf(response.rawHeaders), body })
      })
    })
    sent.end(BODY)
  })
}

function linesOf(raw: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const lines = new Map<string, string[]>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? ''
    lines.set(name, [...(lines.get(name) ?? []), raw[at + 1] ?? ''])
  }
  return lines
}

function decoded(bytes: Buffer, headers: IncomingHttpHeaders): string {
  if (bytes.byteLength === 0) return ''
  try {
    return decodedText(bytes, headers)
  } catch {
    // Two neighbours that do not know of each other can make this without us.
    return `undecodable ${bytes.toString('hex')}`
  }
}

function decodedText(bytes: Buffer, headers: IncomingHttpHeaders): string {
  switch (headers['content-encoding']) {
    case 'gzip':
      return gunzipSync(bytes).toString()
    case 'deflate':
      return inflateSync(bytes).toString()
    case 'br':
      return brotliDecompressSync(bytes).toString()
    default:
      return bytes.toString()
  }
}
