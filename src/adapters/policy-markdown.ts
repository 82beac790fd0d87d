/**
 * The published policy as text for people.
 *
 * @module
 */

import type { Effect } from '../core/policy.ts'
import type { KeyPlace, PublishedFates, PublishedKey, PublishedPolicy } from './policy.ts'

/**
 * A policy as Markdown, to stand in the documentation of an API.
 *
 * @param policy - what `publishedPolicy` made
 * @param title - the heading; its sections are one level below
 */
export function policyMarkdown(policy: PublishedPolicy, title = 'Idempotency'): string {
  const { key, scope, fingerprint, retentionSeconds } = policy
  const sections = [
    `# ${title}`,
    `Send ${listed(policy.methods)} requests with a key, and send them again with the same key when no answer comes: the request takes effect once, and the repetition gets the first answer.`,
    '## The key',
    lines([
      keyPlaces(key),
      `It has ${key.lengthMin} to ${key.lengthMax} characters.${format(key)}`,
      `It counts for one ${listed(scope)}: under another one it is another key.`,
      ...age(key),
    ]),
    '## Repetitions',
    lines([
      `A repetition has the same ${listed(fingerprint.parts)}.${excluded(fingerprint)} JSON and forms are compared by what they say, not by white space or the order of members.`,
      retentionSeconds === 'by caller'
        ? 'How long an answer is kept depends on the account.'
        : `An answer is kept for ${duration(retentionSeconds)}; after that the key is free, and the request would run again.`,
      ...replay(policy),
      waiting(policy),
    ]),
    '## Which answers are kept',
    'A status that is named counts before its class.',
    policy.answers.map(answers).join('\n\n'),
    AFTER_CRASH[policy.afterCrash],
    '## Errors',
    errors(policy),
  ]
  return `${sections.join('\n\n')}\n`
}

const AFTER_CRASH: Readonly<Record<PublishedPolicy['afterCrash'], string>> = {
  refuse: 'A request that stopped half way is not repeated: its repetition gets a definite error.',
  rerun: 'A request that stopped half way is run again by its repetition.',
  recover:
    'When a request stopped half way, its repetition finds out what took effect before it goes on.',
}

const EFFECTS: Readonly<Record<Effect, string>> = {
  none: 'Nothing took effect',
  unknown: 'Whether something took effect is not known',
  begun: 'The effect had begun',
}

function answers({ effect, stored, forgotten, suspended }: PublishedFates): string {
  const rows = [
    ['kept and given again', stored],
    ['not kept, the key is free', forgotten],
    ['not kept, treated as a request that stopped half way', suspended],
  ] as const
  const filled = rows.filter(([, statuses]) => statuses.length > 0)
  const table = filled.map(([fate, statuses]) => `| ${statuses.join(', ')} | ${fate} |`)
  return [`${EFFECTS[effect]}:`, '', '| status | answer |', '|---|---|', ...table].join('\n')
}

function errors(policy: PublishedPolicy): string {
  const rows = policy.errors.map(({ code, status, title, retryable, docs }) => {
    const name = docs === null ? `\`${code}\`` : `[${code}](${docs})`
    return `| ${status} | ${name} | ${title} | ${retryable ? 'yes' : 'no'} |`
  })
  return ['| status | error | meaning | send again |', '|---|---|---|---|', ...rows].join('\n')
}

function keyPlaces({ places, required, quoted }: PublishedKey): string {
  const where = places.map(place).join(', or in ')
  const form = quoted ? ', in double quotes' : ''
  return required
    ? `A key is required, in ${where}${form}.`
    : `A key is sent in ${where}${form}. Without one the request runs unprotected.`
}

function place({ in: kind, name }: KeyPlace): string {
  switch (kind) {
    case 'header':
      return `the header \`${name}\``
    case 'form':
      return `the field \`${name}\` of a form post`
    case 'body':
      return `the member \`${name}\` of the body`
    case 'query':
      return `the query field \`${name}\``
    case 'request':
      return 'the place that the documentation of the endpoint names'
  }
}

function format({ format: rule }: PublishedKey): string {
  if (rule === null) return ' A random UUID will do.'
  if (rule === 'uuid') return ' It is a UUID.'
  if (rule === 'uuidv7') return ' It is a UUID of version 7.'
  return rule === 'own'
    ? ' The server checks its format.'
    : ` It matches \`${rule.pattern.replaceAll('`', '\\x60')}\`.`
}

function age({ ageSecondsMax }: PublishedKey): readonly string[] {
  return ageSecondsMax === null
    ? []
    : [`A key that carries its time (UUIDv7, ULID) is at most ${duration(ageSecondsMax)} old.`]
}

function excluded({ exclude, excludeQuery }: PublishedPolicy['fingerprint']): string {
  const names = [...exclude, ...excludeQuery].map((name) => `\`${name}\``)
  return names.length === 0 ? '' : ` What ${listed(names)} says does not count.`
}

function replay({ replay: { created, sensitive, ...rest } }: PublishedPolicy): string[] {
  const { markedBy, expires, cookies } = rest
  if (sensitive) return ['The answer is given once: a repetition is told that it is gone.']
  const notes: string[] = []
  if (markedBy !== null) notes.push(`A repeated answer says \`${markedBy}: true\`.`)
  if (created === 200) notes.push('What was answered 201 first is answered 200 again.')
  if (expires !== null) notes.push(`\`${expires}\` says for how many seconds it is still kept.`)
  notes.push(cookies ? 'Cookies are set again.' : 'Cookies are not set again.')
  return notes
}

function waiting({ waitSeconds, preferWaitSecondsMax }: PublishedPolicy): string {
  const prefer = `\`Prefer: wait=n\` waits up to ${duration(preferWaitSecondsMax)}`
  return waitSeconds === 0
    ? `While the first request runs, a repetition is told so at once; ${prefer}.`
    : `While the first request runs, a repetition waits up to ${duration(waitSeconds)}; ${prefer}.`
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** In the largest unit that divides it. */
function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => seconds > 0 && seconds % size === 0) ?? [
    'second',
    1,
  ]
  const count = seconds / size
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

function listed(items: readonly string[]): string {
  const [last = '', ...rest] = [...items].reverse()
  return rest.length === 0 ? last : `${rest.reverse().join(', ')} and ${last}`
}

function lines(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n')
}
