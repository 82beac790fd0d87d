/**
 * `reprise send`: the same request, several times.
 *
 * @module
 */

import type { Command, Context, Result } from '../command.ts'
import { EXIT, type ExitCode, usage } from '../errors.ts'
import {
  type Answered,
  type Asked,
  bodyHash,
  type Cut,
  exchange,
  isSuccess,
  otherBody,
} from '../http/exchange.ts'
import { REQUEST_FLAGS, readRequest } from '../http/request-flags.ts'
import { pause } from '../io.ts'
import { table } from '../output.ts'
import { plural } from '../words.ts'

const TIMES_MAX = 1000
/** How often a request that is in progress is asked for again, and the pause, in milliseconds. */
const LOOKS_MAX = 60
const LOOK_MS = 500

/** `reprise send`. */
export const send: Command = {
  ...{ name: 'send', summary: 'Send the same request several times and count the effects' },
  ...{ args: '<url>', config: 'ignored' },
  details: [
    'Ends with 3 if the answers show more than one effect. Point it at a server of your own.',
    'While all that is heard is that the first is in progress, it is asked for again.',
  ],
  flags: [
    ...REQUEST_FLAGS,
    {
      name: 'key',
      short: 'k',
      type: 'text',
      value: '<key>',
      summary: 'Key; a fresh one if not given',
    },
    {
      name: 'times',
      short: 'n',
      type: 'whole',
      value: '<count>',
      default: '2',
      summary: 'How often',
    },
    { name: 'parallel', type: 'switch', summary: 'All at once' },
    {
      ...{
        name: 'cut',
        type: 'choice',
        choices: ['before', 'after', 'mid-body'],
        value: '<where>',
      },
      summary: 'Cut the first attempt: before the answer, after its first byte, mid-body',
    },
    { name: 'change-body', type: 'switch', summary: 'Send another body under the same key, too' },
  ],
  examples: [
    [
      `npx reprise send http://127.0.0.1:4400/charges -d '{"amount":1200}'`,
      'Twice: the second is a replay',
    ],
    ['npx reprise send http://127.0.0.1:4400/charges --times 5 --parallel', 'Five at once'],
    [
      'npx reprise send http://127.0.0.1:4400/charges --cut before',
      'The client dies, then comes back',
    ],
  ],
  async run(context) {
    const { flags, io } = context
    const times = flags.whole('times') ?? 2
    if (times < 1 || times > TIMES_MAX) throw usage(`--times: from 1 to ${TIMES_MAX}.`)
    const { keyHeader, ...request } = await readRequest(context)
    const key = flags.text('key') ?? `cli-${io.random.token()}`
    const asked: Asked = { ...request, headers: { ...request.headers, [keyHeader]: key } }
    // The values of the flag are the places.
    const cut = flags.text('cut') as Cut | undefined
    const first = (at: number) => ({ ...asked, cut: at === 0 ? cut : undefined })
    const sent = flags.isOn('parallel')
      ? await Promise.all(Array.from({ length: times }, (_, at) => exchange(first(at), io)))
      : await inTurn(context, times, (at) => exchange(first(at), io))
    const answers = [...sent, ...(await untilAnswered(context, sent, () => exchange(asked, io)))]
    const changed = flags.isOn('change-body') ? await exchange(withOther(asked), io) : undefined
    return summary(key, answers, changed)
  },
}

async function inTurn(
  { io, out }: Context,
  times: number,
  attempt: (at: number) => Promise<Answered>,
): Promise<readonly Answered[]> {
  const answers: Answered[] = []
  for (let at = 0; at < times && !io.interrupted.aborted; at++) {
    if (times > 10) out.progress(`attempt ${at + 1} of ${times} `)
    answers.push(await attempt(at))
  }
  return answers
}

/** While the first is in progress, nobody can say what its effect is: it is asked for again. */
async function untilAnswered(
  { io }: Context,
  sent: readonly Answered[],
  attempt: () => Promise<Answered>,
): Promise<readonly Answered[]> {
  const more: Answered[] = []
  let last = sent.some(isSuccess) ? undefined : sent.at(-1)
  while (last?.status === 409 && more.length < LOOKS_MAX && (await pause(io, LOOK_MS))) {
    last = await attempt()
    more.push(last)
  }
  return more
}

/** The same request with another body: one more member, or more text. */
function withOther(asked: Asked): Asked {
  return { ...asked, body: otherBody(asked.body) }
}

function summary(key: string, answers: readonly Answered[], changed: Answered | undefined): Result {
  const effects = new Set(answers.filter(isSuccess).map(({ body }) => bodyHash(body)))
  const isAnswered = answers.some(({ status }) => status !== null)
  const attempts = [...answers, ...(changed === undefined ? [] : [changed])].map((answer, at) => ({
    attempt: at + 1,
    status: answer.status,
    isReplayed: answer.isReplayed,
    tookMs: answer.tookMs,
    bodyHash: answer.status === null ? null : bodyHash(answer.body),
    note: noteOf(answer, answer === changed),
  }))
  const rows = attempts.map(({ attempt, status, isReplayed, tookMs, bodyHash: hash, note }) => [
    ...[String(attempt), status === null ? '-' : String(status)],
    ...[isReplayed === null ? '-' : isReplayed ? 'yes' : 'no', String(tookMs), hash ?? '-', note],
  ])
  const verdict = `${plural(effects.size, 'distinct effect')} in ${plural(answers.length, 'attempt')}`
  return {
    exit: exitOf(effects.size, isAnswered),
    document: { key, attempts, distinctEffects: effects.size },
    text: [
      table(['ATTEMPT', 'STATUS', 'REPLAYED', 'MS', 'BODY', 'NOTE'], rows),
      ...['', `key ${key}: ${verdict}.`],
    ].join('\n'),
  }
}

function exitOf(effects: number, isAnswered: boolean): ExitCode {
  if (effects > 1) return EXIT.problems
  return isAnswered ? EXIT.ok : EXIT.failed
}

function noteOf({ cut, error }: Answered, isChanged: boolean): string {
  if (isChanged) return error ?? 'another body'
  return error ?? (cut === null ? '' : `cut ${cut}`)
}
