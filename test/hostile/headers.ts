/**
 * Header values: each is either refused with 400, or it is a key, and then one key has one answer and
 * no other key ever gets it. Which values are the same key is asked of another parser than ours.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseItem } from 'structured-headers'
import { parseKey } from '../../src/core/key.ts'
import { Chance } from '../engine/chance.ts'
import { mutated } from './mutate.ts'
import { type Service, startService, Unsendable } from './service.ts'

/** What a run of the fuzzer saw. */
export interface HeaderReport {
  readonly sent: number
  readonly accepted: number
  readonly replayed: number
  readonly refused: number
  /** Values that no client can send: only the parser has seen them. */
  readonly unsendable: number
}

/** Records are kept in memory: after so many values the service starts anew. */
const ROUND = 20_000

/** After so many values the event loop has a turn: what is held weakly is not let go before. */
export const TURN = 200

const VECTORS = join(import.meta.dirname, '../vectors/key-header.json')

/** What values are made of: the vectors, and keys of the libraries in the field. */
export function headerCorpus(): readonly string[] {
  // The file is ours.
  const vectors = JSON.parse(readFileSync(VECTORS, 'utf8')) as { lines?: string[] }[]
  return [
    ...vectors.flatMap(({ lines = [] }) => lines).filter((line) => line.length <= 1024),
    ...['a', '"a"', '"a b"', '"a\\"b"', 'k;p=1', '"k";p=1;q="x"', '"k";d=%"f%c3%bc"', '  k  '],
    ...[
      '"',
      '""',
      '"\\',
      '"a',
      'a"b',
      'a,b',
      '"a", "b"',
      'null',
      '"null"',
      '\u00e9',
      'x'.repeat(255),
    ],
  ]
}

/**
 * Sends so many values.
 *
 * @throws Error that names the seed, the number and the value of the first that is treated wrongly
 */
export async function fuzzHeaders(seed: number, count: number): Promise<HeaderReport> {
  const chance = new Chance(seed)
  const corpus = headerCorpus()
  const report = { sent: 0, accepted: 0, replayed: 0, refused: 0, unsendable: 0 }
  let round = new Round()
  for (let number = 1; number <= count; number++) {
    if (number % ROUND === 0) round = new Round()
    if (number % TURN === 0) await new Promise((resolve) => void setImmediate(resolve))
    const value = mutated(chance, corpus)
    try {
      report[await round.play(value)]++
    } catch (cause) {
      const where = `seed ${seed}, value ${number}: ${JSON.stringify(value)}`
      throw new Error(`A header value is treated wrongly (${where}): ${String(cause)}`, { cause })
    }
    report.sent++
  }
  return report
}

/** One service, and what it has answered to each key. */
class Round {
  readonly #service: Service = startService()
  readonly #answers = new Map<string, string>()

  async play(value: string): Promise<Exclude<keyof HeaderReport, 'sent'>> {
    try {
      return await this.#send(value)
    } catch (error) {
      if (!(error instanceof Unsendable)) throw error
      parseKey([value])
      return 'unsendable'
    }
  }

  async #send(value: string): Promise<'accepted' | 'replayed' | 'refused'> {
    const runs = this.#service.runs()
    const { status, body, isReplay } = await this.#service.send({ key: value })
    const ran = this.#service.runs() - runs
    if (status === 400) {
      check(ran === 0, 'it was refused, and the handler ran')
      const detail: unknown = JSON.parse(body).detail
      check(typeof detail === 'string' && detail !== '', 'the refusal says nothing')
      return 'refused'
    }
    check(status === 201, `the status is ${status}`)
    const key = keyOf(value)
    const first = this.#answers.get(key)
    check(isReplay === (first !== undefined), isReplay ? 'another key’s answer' : 'ran again')
    check(ran === (isReplay ? 0 : 1), `the handler ran ${ran} times`)
    if (first !== undefined) check(body === first, 'the answer of another key')
    this.#answers.set(key, body)
    return isReplay ? 'replayed' : 'accepted'
  }
}

/** The key that a value stands for, by other means than ours. `Headers` has trimmed it already. */
function keyOf(value: string): string {
  const text = value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')
  if (!text.startsWith('"')) return text
  // That parser knows no parameters after a date.
  const isDated = text.includes('=@')
  const [key] = parseItem(isDated ? (/^"(?:[^"\\]|\\.)*"/.exec(text)?.[0] ?? text) : text)
  if (typeof key === 'string') return key
  throw new Error('it is no string, and was taken for one')
}

/** @throws Error with the sentence, where it does not hold */
export function check(holds: boolean, sentence: string): void {
  if (!holds) throw new Error(sentence)
}
