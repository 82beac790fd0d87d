/**
 * What the sentences of the design are checked with: plain HTTP.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { expect, vi } from 'vitest'
import { PATIENCE, type ReferenceServer } from '../reference-server.ts'

/** Gives the server that is tested; it is started later than tests are named. */
export type Server = () => ReferenceServer

/** What is sent. */
export interface Sent {
  readonly auth?: string
  readonly key?: string
  /** Name of the header that carries the key; `Idempotency-Key` unless another one is named. */
  readonly keyHeader?: string
  readonly fault?: string
  /** Sent as JSON; text as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** What came back. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body, if it is JSON. */
  readonly body: Body
}

/** Members that tests look for; whether they are there is what the tests are about. */
export interface Body {
  readonly id: string
  readonly code: string
  readonly error: { readonly code: string }
  readonly created_at: number
  readonly data: readonly unknown[]
  readonly runs: number
  readonly token: string
  readonly pid: number
  readonly charges: readonly unknown[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
}

/** An operation in an OpenAPI document. */
export interface Described {
  readonly parameters: readonly { readonly name: string }[]
  readonly responses: Readonly<Record<string, unknown>>
}

/** Sends one request, such as `POST /tasks`. */
export async function call(
  server: Server,
  operation: string,
  { auth, key, keyHeader = 'Idempotency-Key', fault, body, headers }: Sent = {},
): Promise<Answer> {
  const [method = '', path = ''] = operation.split(' ')
  const isText = typeof body === 'string'
  const response = await server().get(path, {
    method,
    headers: {
      ...(auth && { Authorization: auth }),
      ...(key !== undefined && { [keyHeader]: key }),
      ...(fault && { 'Demo-Fault': fault }),
      ...(body !== undefined && !isText && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return {
    ...{ status: response.status, headers: response.headers, text },
    body: JSON.parse(isJson && text !== '' ? text : 'null'),
  }
}

/** Sends it again until it has this status, as clients do. */
export function insist(send: () => Promise<Answer>, status: number): Promise<Answer> {
  return vi.waitFor(async () => {
    const answer = await send()
    expect(answer.status).toBe(status)
    return answer
  }, PATIENCE)
}

/** Whether an answer says that it is a replay. */
export function isReplayed({ headers }: Answer): boolean {
  return headers.get('idempotent-replayed') === 'true'
}

/** A key, or a name, that nobody else has. */
export function fresh(): string {
  return randomUUID()
}

/** How long the first of two takes, in milliseconds: longer than the second needs to arrive. */
const SLOW_MS = 1500

/** How often two are sent until they meet, on a machine that may be busy. */
const MEETINGS_MAX = 20

/**
 * Sends the same twice at once, with a handler that takes its time.
 *
 * @param send - is given the key and the fault to send
 * @returns the answer to the one that came second, and to the one that ran
 */
export async function whileRunning(
  send: (key: string, fault: string) => Promise<Answer>,
): Promise<{ readonly second: Answer; readonly first: Answer }> {
  for (let meetings = 0; meetings < MEETINGS_MAX; meetings++) {
    const key = fresh()
    const fault = `slow=${SLOW_MS}`
    const [one, other] = await Promise.all([send(key, fault), send(key, fault)])
    if (one.status === 409) return { second: one, first: other }
    if (other.status === 409) return { second: other, first: one }
    // They did not meet: the second came when the first was done, and got its answer.
    expect([one, other].filter(isReplayed)).toHaveLength(1)
  }
  throw new Error('The two never met.')
}
