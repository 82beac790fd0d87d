/**
 * What a server that honours keys does, seen from outside: the IETF draft, and what we add to it.
 *
 * @module
 */

import { type Io, pause } from '../io.ts'
import { type Answered, type Asked, type Cut, exchange, isSuccess, otherBody } from './exchange.ts'

/** How a rule was kept. */
export interface Verdict {
  readonly rule: string
  readonly level: 'ok' | 'warn' | 'FAIL' | 'skip'
  readonly text: string
}

/** What the rules are tried with. */
export interface Subject {
  readonly io: Io
  /** The request without a key. */
  readonly asked: Asked
  readonly keyHeader: string
  /** Headers of another caller, if there are any. */
  readonly otherCaller: Readonly<Record<string, string>> | undefined
  readonly isKeyRequired: boolean
}

const COPIES = 5
/** How often a request that is in progress is asked for again, and the pause, in milliseconds. */
const LOOKS_MAX = 60
const LOOK_MS = 500

/** Tries every rule, in order. */
export async function conformance(subject: Subject): Promise<readonly Verdict[]> {
  const first = await trySend(subject, freshKey(subject))
  if (!isSuccess(first)) {
    const said = first.error ?? `status ${String(first.status)}`
    return [verdict('answers', 'FAIL', `A first request with a fresh key failed: ${said}.`)]
  }
  const verdicts: Verdict[] = [verdict('answers', 'ok', `status ${String(first.status)}`)]
  for (const rule of [replays, refusesReuse, refusesBadKeys, runsOnce, survivesCut, keepsScopes]) {
    if (subject.io.interrupted.aborted) break
    verdicts.push(...(await rule(subject)))
  }
  return verdicts
}

function verdict(rule: string, level: Verdict['level'], text: string): Verdict {
  return { rule, level, text }
}

function freshKey({ io }: Subject): string {
  return `check-${io.random.token()}`
}

function trySend(
  { asked, keyHeader, io }: Subject,
  key: string | undefined,
  change: { readonly body?: string; readonly cut?: Cut; readonly headers?: Asked['headers'] } = {},
): Promise<Answered> {
  const headers = {
    ...asked.headers,
    ...change.headers,
    ...(key === undefined ? {} : { [keyHeader]: key }),
  }
  return exchange({ ...asked, ...change, headers }, io)
}

/** The same answer again, byte by byte, and marked. */
async function replays(subject: Subject): Promise<readonly Verdict[]> {
  const key = freshKey(subject)
  const first = await trySend(subject, key)
  const again = await trySend(subject, key)
  const isSame = first.body.equals(again.body) && isSuccess(again)
  const type = (answer: Answered) => answer.headers['content-type']
  return [
    isSame
      ? verdict('replay', 'ok', 'the same body, byte by byte')
      : verdict(
          'replay',
          'FAIL',
          `The second answer differs: ${String(first.status)}, then ${String(again.status)}.`,
        ),
    first.status === again.status
      ? verdict('replay status', 'ok', String(first.status))
      : verdict('replay status', 'warn', `${String(first.status)} became ${String(again.status)}.`),
    type(first) === type(again)
      ? verdict('replay headers', 'ok', 'the same content type')
      : verdict('replay headers', 'FAIL', `Content-Type became ${type(again) ?? 'none'}.`),
    again.isReplayed === true
      ? verdict('replay marker', 'ok', 'Idempotent-Replayed: true')
      : verdict('replay marker', 'warn', 'A client can not tell a replay: no Idempotent-Replayed.'),
  ]
}

/** Another request under the key is refused, and changes nothing. */
async function refusesReuse(subject: Subject): Promise<readonly Verdict[]> {
  const key = freshKey(subject)
  const first = await trySend(subject, key)
  const other = await trySend(subject, key, { body: otherBody(subject.asked.body) })
  const again = await trySend(subject, key)
  const status = String(other.status)
  return [
    other.status === 422
      ? verdict('reuse', 'ok', '422')
      : [400, 409].includes(other.status ?? 0)
        ? verdict('reuse', 'warn', `${status}; the draft says 422.`)
        : verdict('reuse', 'FAIL', `Another body under the same key got ${status}.`),
    first.body.equals(again.body)
      ? verdict('reuse leaves no trace', 'ok', 'the first answer still stands')
      : verdict('reuse leaves no trace', 'FAIL', 'After it the first request got another answer.'),
  ]
}

/** Keys that are missing, empty or too long. */
async function refusesBadKeys(subject: Subject): Promise<readonly Verdict[]> {
  const long = await trySend(subject, 'k'.repeat(256))
  const empty = await trySend(subject, '""')
  const missing = subject.isKeyRequired ? await trySend(subject, undefined) : undefined
  const judged = (rule: string, { status }: Answered) =>
    status === 400
      ? verdict(rule, 'ok', '400')
      : verdict(rule, isSuccess({ status }) ? 'FAIL' : 'warn', `${String(status)}, not 400.`)
  return [
    missing === undefined
      ? verdict('missing key', 'skip', 'not required here; --required checks it')
      : judged('missing key', missing),
    judged('empty key', empty),
    judged('long key', long),
  ]
}

/** Several at once are one effect. */
async function runsOnce(subject: Subject): Promise<readonly Verdict[]> {
  const key = freshKey(subject)
  const answers = await Promise.all(Array.from({ length: COPIES }, () => trySend(subject, key)))
  const bodies = new Set(answers.filter(isSuccess).map(({ body }) => body.toString('hex')))
  const odd = answers.find((answer) => !isSuccess(answer) && answer.status !== 409)
  if (bodies.size > 1) {
    return [verdict('at once', 'FAIL', `${COPIES} requests at once had ${bodies.size} effects.`)]
  }
  if (odd !== undefined) {
    return [
      verdict(
        'at once',
        'FAIL',
        `One of ${COPIES} at once got ${odd.error ?? String(odd.status)}, neither the answer nor 409.`,
      ),
    ]
  }
  const waiting = answers.filter(({ status }) => status === 409).length
  return [verdict('at once', 'ok', `one effect; ${waiting} of ${COPIES} were told to come back`)]
}

/** A client that hung up gets its answer when it comes back. */
async function survivesCut(subject: Subject): Promise<readonly Verdict[]> {
  const key = freshKey(subject)
  await trySend(subject, key, { cut: 'before' })
  let back = await trySend(subject, key)
  for (let look = 0; look < LOOKS_MAX && back.status === 409; look++) {
    if (!(await pause(subject.io, LOOK_MS))) break
    back = await trySend(subject, key)
  }
  const again = await trySend(subject, key)
  if (!isSuccess(back)) {
    return [
      verdict(
        'cut connection',
        'FAIL',
        `After a cut connection the retry got ${back.error ?? String(back.status)}.`,
      ),
    ]
  }
  return [
    back.body.equals(again.body)
      ? verdict('cut connection', 'ok', 'the retry gets the answer, and gets it again')
      : verdict('cut connection', 'FAIL', 'Two retries after a cut connection had two effects.'),
  ]
}

/** The key of one caller is nothing to another. */
async function keepsScopes(subject: Subject): Promise<readonly Verdict[]> {
  const { otherCaller } = subject
  if (otherCaller === undefined) {
    return [verdict('scope', 'skip', 'no second caller; --other "Authorization: …" checks it')]
  }
  const key = freshKey(subject)
  const first = await trySend(subject, key)
  const other = await trySend(subject, key, { headers: otherCaller })
  const isShared = other.isReplayed === true || (isSuccess(other) && other.body.equals(first.body))
  return [
    isShared
      ? verdict('scope', 'FAIL', 'Another caller got the answer of the first.')
      : verdict('scope', 'ok', `another caller got ${String(other.status)} of its own`),
  ]
}
