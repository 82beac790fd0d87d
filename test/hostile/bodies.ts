/**
 * Bodies: each is refused, or it has one effect; sent again it gets the same answer, and a body that
 * says something else never gets it.
 */

import { Chance } from '../engine/chance.ts'
import { check, TURN } from './headers.ts'
import { among, below, mutated } from './mutate.ts'
import { type Service, startService } from './service.ts'

/** What a run of the fuzzer saw. */
export interface BodyReport {
  readonly sent: number
  readonly executed: number
  readonly refused: number
  /** Changed bodies that were told apart from the first, of those that were sent. */
  readonly mismatched: number
  /** Rewritten bodies that say the same and got the same answer. */
  readonly equal: number
}

const ROUND = 10_000

const TYPES = [
  ...['application/json', 'application/json; charset=utf-8', 'application/merge-patch+json'],
  ...['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=b'],
  ...['application/json;', 'APPLICATION/JSON', 'application/json, text/plain', 'text/json', '*/*'],
]

/** Ambiguous, deep, or hardly JSON. */
const TEXTS = [
  ...[
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '[{"b":[{"x":1,"x":1}]}]',
    '{"__proto__":{"a":1}}',
    '[',
    '',
  ],
  ...[`${'['.repeat(129)}${']'.repeat(129)}`, `${'{"a":'.repeat(128)}1${'}'.repeat(128)}`, '1e999'],
  ...['\ufeff{}', '{"a":1}{"a":1}', '"\\ud800"', '[1,]', '123456789012345678901234567890', 'nul'],
]

const FORMS = [
  'a=1&b=2',
  'a[]=1&a[]=2',
  'idempotency_key=k&a=1',
  'a=%F0%9F%98%80&b',
  '&&==&',
  'a%5B%5D=1',
]

/** With the boundary `b`: regular ones, and ones that parsers read in different ways. */
const UPLOADS = [
  part('a', '1') + part('c', '2'),
  part('a', '1') + part('a', '2') + part('f"; filename="f.bin', 'raw\r\n--'),
  part('a', '1\r\n--b\n2'),
  `preamble\r\n${part('a', '1')}`,
  part('a', '1').replaceAll('\r\n', '\n'),
].map((parts) => `${parts}--b--\r\n`)

function part(name: string, content: string): string {
  return `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`
}

/** Names that make trouble as members of objects. */
const NAMES = [
  'a',
  'b',
  '',
  '__proto__',
  'constructor',
  'toJSON',
  'toString',
  '\u0000',
  '\ud800',
  'é',
]

/**
 * Sends so many bodies, each again, and each with a change.
 *
 * @throws Error that names the seed, the number and the body of the first that is treated wrongly
 */
export async function fuzzBodies(seed: number, count: number): Promise<BodyReport> {
  const chance = new Chance(seed)
  const report = { sent: 0, executed: 0, refused: 0, mismatched: 0, equal: 0 }
  let service = startService()
  for (let number = 1; number <= count; number++) {
    if (number % ROUND === 0) service = startService()
    if (number % TURN === 0) await new Promise((resolve) => void setImmediate(resolve))
    const given = generate(chance)
    try {
      for (const seen of await play(service, chance, { ...given, key: `key-${number}` })) {
        report[seen]++
      }
    } catch (cause) {
      const where = `seed ${seed}, body ${number}: ${given.type} ${JSON.stringify(given.body)}`
      throw new Error(`A body is treated wrongly (${where}): ${String(cause)}`, { cause })
    }
    report.sent++
  }
  return report
}

interface Given {
  readonly type: string
  readonly body: string
}

type Seen = 'executed' | 'refused' | 'mismatched' | 'equal'

async function play(
  service: Service,
  chance: Chance,
  given: Given & { readonly key: string },
): Promise<readonly Seen[]> {
  const runs = service.runs()
  const first = await service.send(given)
  const again = await service.send(given)
  if (first.status !== 201) {
    check(first.status === 400, `the status is ${first.status}`)
    check(again.status === 400 && service.runs() === runs, 'the second refusal is another')
    return ['refused']
  }
  check(again.status === 201 && again.isReplay && again.body === first.body, 'no replay')
  check(service.runs() === runs + 1, 'the handler ran twice')
  const other = { ...given, body: mutated(chance, [given.body]) }
  const changed = await service.send(other)
  check(service.runs() === runs + 1, 'the handler ran for another body with the key')
  check([201, 400, 422].includes(changed.status), `a changed body gets ${changed.status}`)
  const isTold = changed.status !== 201
  if (saysAnother(given, other.body)) check(isTold, `${JSON.stringify(other.body)} got its answer`)
  const rewritten = rewrite(given)
  const same =
    rewritten === undefined ? undefined : await service.send({ ...given, body: rewritten })
  if (same !== undefined) check(same.isReplay, `${rewritten} says the same and got ${same.status}`)
  return [
    ...(['executed'] as const),
    ...(isTold ? (['mismatched'] as const) : []),
    ...(same === undefined ? [] : (['equal'] as const)),
  ]
}

function generate(chance: Chance): Given {
  const type = among(chance, TYPES)
  if (type.includes('urlencoded')) return { type, body: mutated(chance, FORMS) }
  if (type.startsWith('multipart')) return { type, body: mutated(chance, UPLOADS) }
  if (chance.happens(0.1)) return { type, body: among(chance, TEXTS) }
  const body = JSON.stringify(value(chance, 0))
  return { type, body: chance.happens(0.4) ? mutated(chance, [body, body, ...TEXTS]) : body }
}

/** A JSON value of any shape, not deep. */
function value(chance: Chance, depth: number): unknown {
  const isLeaf = depth > 4 || chance.happens(0.4)
  if (isLeaf) {
    const odd = [0, -0, 1e21, 5e-324, 2 ** 53, 0.1, true, null, '', '\u2028', '\ud800', 'x']
    return chance.happens(0.3) ? mutated(chance, ['a', '1', 'é']) : among(chance, odd)
  }
  const length = below(chance, 5)
  if (chance.happens(0.4)) return Array.from({ length }, () => value(chance, depth + 1))
  const members = Array.from({ length }, () => [among(chance, NAMES), value(chance, depth + 1)])
  return Object.fromEntries(members)
}

function isJson({ type }: Given): boolean {
  return /^(application\/(.+\+)?|text\/)json *(;|$)/i.test(type)
}

/** Whether two bodies surely say different things. */
function saysAnother(given: Given, other: string): boolean {
  const bytes = (text: string) => Buffer.from(text).toString('latin1')
  if (bytes(given.body) === bytes(other)) return false
  // Forms may say the same in other bytes; test/core compares them with what parsers read.
  if (/urlencoded|multipart/.test(given.type)) return false
  if (!isJson(given)) return true
  const [one, two] = [parsed(given.body), parsed(other)]
  if (one === undefined || two === undefined) return one !== two
  return sorted(one) !== sorted(two)
}

/** The same in another order and spelling, of JSON that can be written so. */
function rewrite(given: Given): string | undefined {
  if (!isJson(given)) return undefined
  // Half characters become others on the wire, and numbers others in a double.
  if (/[\ud800-\udfff]|\\u[dD]|\d{15}|[eE]|-0|\.\d/.test(given.body)) return undefined
  const one = parsed(given.body)
  return one === undefined ? undefined : JSON.stringify(one, backwards, 2)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text).toString())
  } catch {
    return undefined
  }
}

function sorted(one: unknown): string {
  return JSON.stringify(one, (_, member: unknown) => ordered(member, 1))
}

function backwards(_: string, member: unknown): unknown {
  return ordered(member, -1)
}

function ordered(member: unknown, direction: 1 | -1): unknown {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
  return Object.fromEntries(
    Object.entries(member).sort(([a], [b]) => (a < b ? -direction : direction)),
  )
}
