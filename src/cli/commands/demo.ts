/**
 * `reprise demo`: crashes, cut connections and duplicates, and one charge for each key.
 *
 * @module
 */

import { memoryStore } from '../../stores/memory/index.ts'
import type { Command, Context } from '../command.ts'
import { Ledger } from '../dev/ledger.ts'
import { Supervisor } from '../dev/supervisor.ts'
import { CliError, EXIT, usage } from '../errors.ts'
import { type Asked, type Cut, exchange, isSuccess } from '../http/exchange.ts'
import { pause } from '../io.ts'
import { plural } from '../words.ts'

/** How many requests are under way at once, so that a crash hits several. */
const LANES = 8
const ROUNDS_MAX = 10_000
/** How long a key is held after a crash, in milliseconds. */
const LEASE_MS = 3000
/** Pause before a retry, in milliseconds; and how many there are before it counts as failed. */
const RETRY_MS = 250
const RETRIES_MAX = 400

/** `reprise demo`. */
export const demo: Command = {
  ...{ name: 'demo', summary: 'Kill a server again and again; count the charges' },
  ...{ config: 'ignored', isLong: true },
  details: [
    'Runs a small API in a process of its own, kills it before and after charges, cuts connections and sends duplicates. Ends with 0 only if there is exactly one charge for each key.',
  ],
  flags: [
    {
      name: 'seed',
      type: 'whole',
      value: '<number>',
      default: '7',
      summary: 'Which faults happen when',
    },
    { name: 'rounds', type: 'whole', value: '<count>', default: '24', summary: 'How many charges' },
    { name: 'headless', type: 'switch', summary: 'Print the result only' },
  ],
  examples: [
    ['npx reprise demo', 'Watch it'],
    ['npx reprise demo --headless --seed 7 --rounds 200', 'As a check'],
  ],
  async run(context) {
    const { flags, io, out } = context
    const rounds = flags.whole('rounds') ?? 24
    const seed = flags.whole('seed') ?? 7
    if (rounds < 1 || rounds > ROUNDS_MAX) throw usage(`--rounds: from 1 to ${ROUNDS_MAX}.`)
    const ledger = new Ledger()
    const store = memoryStore()
    const supervisor = new Supervisor({
      ...{ io, ledger, store: () => store, port: 0, host: '127.0.0.1', leaseMs: LEASE_MS },
      onDown: (how) => {
        if (!flags.isOn('headless')) out.note(`        the server is gone (${how}); it comes back`)
      },
    })
    try {
      await supervisor.start()
      const stories = await inLanes(context, { supervisor, seed, rounds })
      return verdict({ seed, rounds, ledger, crashes: supervisor.starts - 1, stories })
    } finally {
      await supervisor.stop()
    }
  },
}

interface Play {
  readonly supervisor: Supervisor
  readonly seed: number
  readonly rounds: number
}

interface Story {
  readonly key: string
  readonly fault: string
  readonly attempts: number
  readonly isAnswered: boolean
}

async function inLanes(context: Context, play: Play): Promise<readonly Story[]> {
  const { out, flags } = context
  const stories: Story[] = []
  let next = 0
  const lane = async () => {
    while (next < play.rounds && !context.io.interrupted.aborted) {
      const round = next++
      const story = await playRound(context, play, round)
      stories.push(story)
      const words = `round ${String(round + 1).padStart(3)}  ${story.fault}, answered after ${plural(story.attempts, 'attempt')}`
      if (flags.isOn('headless')) out.progress(`${stories.length} of ${play.rounds}`)
      else out.note(words)
    }
  }
  await Promise.all(Array.from({ length: Math.min(LANES, play.rounds) }, lane))
  return stories
}

/** Faults, each with what is sent; the last one is none. */
const FAULTS: readonly (readonly [name: string, header: string, cut: Cut | undefined])[] = [
  ['killed before the charge', 'slow=20 crash=before', undefined],
  ['killed after the charge', 'crash=after', undefined],
  ['client hung up before the answer', 'slow=100', 'before'],
  ['client hung up in its own body', '', 'mid-body'],
  ['sent three times at once', 'slow=50', undefined],
  ['nothing happened', '', undefined],
]

async function playRound({ io }: Context, play: Play, round: number): Promise<Story> {
  const { seed, supervisor } = play
  const [fault = '', header = '', cut] = FAULTS[chance(seed, round) % FAULTS.length] ?? []
  const key = `demo-${seed}-${round}-${io.random.token()}`
  const asked = (headers: Readonly<Record<string, string>>): Asked => ({
    url: new URL(`http://127.0.0.1:${supervisor.port}/charges`),
    ...{ method: 'POST', body: `{"amount":${1000 + round}}`, timeoutMs: 60_000 },
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key, ...headers },
  })
  const copies = fault.startsWith('sent three') ? 3 : 1
  const faulty = { ...asked({ 'Demo-Fault': header }), cut }
  const first = await Promise.all(Array.from({ length: copies }, () => exchange(faulty, io)))
  let isAnswered = first.some(isSuccess)
  let attempts = copies
  for (let retry = 0; retry < RETRIES_MAX && !isAnswered; retry++) {
    if (!(await pause(io, RETRY_MS))) break
    await supervisor.up()
    isAnswered = isSuccess(await exchange(asked({}), io))
    attempts += 1
  }
  return { key, fault, attempts, isAnswered }
}

/** A number that is the same for the same seed and round (mulberry32). */
function chance(seed: number, round: number): number {
  let mixed = (seed + Math.imul(round + 1, 0x6d2b79f5)) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return (mixed ^ (mixed >>> 14)) >>> 0
}

interface Counted {
  readonly seed: number
  readonly rounds: number
  readonly ledger: Ledger
  readonly crashes: number
  readonly stories: readonly Story[]
}

function verdict({ seed, rounds, ledger, crashes, stories }: Counted) {
  if (stories.length < rounds) throw new CliError('REPRISE_E_INTERRUPTED', 'Interrupted.')
  const unanswered = stories.filter(({ isAnswered }) => !isAnswered).length
  const charges = ledger.charges.length
  const keys = new Set(ledger.charges.map(({ key }) => key)).size
  const isRight = unanswered === 0 && charges === rounds && keys === rounds
  const requests = stories.reduce((sum, { attempts }) => sum + attempts, 0)
  return {
    exit: isRight ? EXIT.ok : EXIT.failed,
    document: { seed, rounds, requests, crashes, charges, distinctKeys: keys, unanswered, isRight },
    text: [
      `${plural(rounds, 'key')}, ${plural(requests, 'request')}, ${plural(crashes, 'crash', 'crashes')}: ${plural(charges, 'charge')}.`,
      isRight
        ? 'ok: one charge for each key.'
        : `FAIL: ${plural(unanswered, 'request')} unanswered, ${keys} keys charged.`,
    ].join('\n'),
  }
}
