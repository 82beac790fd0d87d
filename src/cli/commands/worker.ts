/**
 * `reprise worker`.
 *
 * @module
 */

import { AT_ONCE } from '../../admin/explain.ts'
import { GRACE_MS } from '../../phases/patience.ts'
import {
  createWorkers,
  type Worker,
  type WorkerEvent,
  type WorkerName,
  type Workers,
} from '../../workers/workers.ts'
import type { Command, Context, Result } from '../command.ts'
import { type Engine, openEngine } from '../engine.ts'
import { CliError, EXIT, usage } from '../errors.ts'
import { DATABASE_FLAGS } from '../flag-sets.ts'
import { aborted } from '../io.ts'
import { plural } from '../words.ts'

const NAMES: readonly WorkerName[] = ['enqueuer', 'completer', 'reaper']

/** `reprise worker`. */
export const worker: Command = {
  ...{ name: 'worker', summary: 'Run enqueuer, completer and reaper', isLong: true },
  details: [
    'The configuration exports operations (for the completer) and sink (for the enqueuer). Without operations the completer still puts what has an unknown outcome before a person; the reaper needs neither. Ends in good order on SIGTERM and Ctrl-C.',
  ],
  flags: [
    {
      ...{ name: 'only', type: 'text', value: '<names>', env: ['REPRISE_ONLY'] },
      summary: 'Some of them: enqueuer,completer,reaper',
    },
    { name: 'once', type: 'switch', summary: 'One run of each, for cron; 1 if one fails' },
    {
      ...{ name: 'grace', type: 'duration', value: '<time>', default: '10s' },
      ...{ summary: 'Time for the runs at hand to end', env: ['REPRISE_GRACE'] },
    },
    {
      ...{ name: 'unknown-grace', type: 'duration', value: '<time>', default: '5m' },
      summary: 'How long what has an unknown outcome is left to clients before a person gets it',
      env: ['REPRISE_UNKNOWN_GRACE'],
    },
    ...DATABASE_FLAGS,
  ],
  examples: [
    ['npx reprise worker', 'All of them, until stopped'],
    ['npx reprise worker --only reaper --once', 'From cron'],
    [AT_ONCE, 'What has an unknown outcome is put before a person now'],
  ],
  async run(context) {
    const names = namesOf(context.flags.text('only'))
    const engine = await openEngine(context)
    try {
      return await work(context, engine, names)
    } finally {
      await engine.close().catch(() => {})
    }
  },
}

function namesOf(only: string | undefined): readonly WorkerName[] {
  if (only === undefined) return NAMES
  const wanted = only.split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => !NAMES.some((one) => one === name))
  if (unknown !== undefined)
    throw usage(`--only: there is no worker "${unknown}".`, `One of: ${NAMES.join(', ')}`)
  return NAMES.filter((name) => wanted.includes(name))
}

async function work(
  context: Context,
  engine: Engine,
  names: readonly WorkerName[],
): Promise<Result> {
  const { io, out, flags } = context
  const done: Record<WorkerName, number> = { enqueuer: 0, completer: 0, reaper: 0 }
  const { operations, sink } = engine
  const workers = createWorkers(engine.reprise, {
    operations,
    ...(sink === undefined ? {} : { sink }),
    completer: { unknownGraceMs: flags.ms('unknown-grace') ?? GRACE_MS },
    onEvent: (event) => {
      if (event.record === undefined) done[event.worker] += event.done
      out.note(lineOf(event))
    },
  })
  const running = chosen(workers, names, context.flags.isTyped('only'))
  for (const name of names) {
    if (!running.has(name)) out.note(`${name}: not run, ${why(name)}`)
  }
  if (flags.isOn('once')) return runOnce(context, running)
  for (const one of running.values()) one.start()
  out.note(`Runs on ${engine.label}: ${[...running.keys()].join(', ')}. Ctrl-C ends it.`)
  await aborted(io.interrupted)
  await stopped(context, running)
  return { document: { done }, text: `Stopped. ${summary(done)}` }
}

function chosen(
  workers: Workers,
  names: readonly WorkerName[],
  isAsked: boolean,
): ReadonlyMap<WorkerName, Worker> {
  const running = new Map<WorkerName, Worker>()
  for (const name of names) {
    const one = workers[name]
    if (one !== undefined) running.set(name, one)
    else if (isAsked)
      throw new CliError('REPRISE_E_CONFIG', `The ${name} can not run: ${why(name)}.`, {
        hint: name === 'enqueuer' ? NO_SINK : 'Use a store that keeps work: PostgreSQL.',
      })
  }
  return running
}

const NO_SINK =
  'Export sink from reprise.config: functionSink(async (job) => …) of reprise/sinks/function, or that of a queue. See node_modules/reprise/docs/cli.md#worker.'

function why(name: WorkerName): string {
  return name === 'enqueuer'
    ? 'the configuration exports no sink'
    : 'the store keeps no work for it'
}

async function runOnce(
  { out }: Context,
  running: ReadonlyMap<WorkerName, Worker>,
): Promise<Result> {
  const runs: { worker: WorkerName; done: number; error: string | null }[] = []
  for (const [name, one] of running) {
    try {
      const done = await one.runOnce()
      runs.push({ worker: name, done, error: null })
    } catch (error) {
      runs.push({
        worker: name,
        done: 0,
        error: error instanceof Error ? error.message : String(error),
      })
    }
  }
  const isFailed = runs.some(({ error }) => error !== null)
  const lines = runs.map(({ worker: name, done, error }) =>
    error === null
      ? `ok    ${name}: ${plural(done, 'thing')} done`
      : `${out.paint('red', 'FAIL')}  ${name}: ${error}`,
  )
  return { exit: isFailed ? EXIT.failed : EXIT.ok, document: { runs }, text: lines.join('\n') }
}

/** Waits for the runs at hand, as long as `--grace` says. */
async function stopped(
  { io, out, flags }: Context,
  running: ReadonlyMap<WorkerName, Worker>,
): Promise<void> {
  const graceMs = flags.ms('grace') ?? 10_000
  out.note(`${String(io.interrupted.reason)}: waits for the runs at hand.`)
  let cancel = () => {}
  const late = new Promise<'late'>((resolve) => {
    cancel = io.clock.after(graceMs, () => resolve('late'))
  })
  const all = Promise.all([...running.values()].map((one) => one.stop()))
  const ended = await Promise.race([all, late])
  cancel()
  if (ended !== 'late') return
  throw new CliError(
    'REPRISE_E_FAILED',
    `A run was not over within --grace ${flags.text('grace') ?? ''}.`,
    {
      reason: 'What it worked on is left to its lease and taken up by another node.',
      hint: 'Raise --grace.',
    },
  )
}

function lineOf({ worker: name, done, buried = 0, tookMs, record, error }: WorkerEvent): string {
  const failed =
    error === undefined ? '' : `  error: ${error instanceof Error ? error.message : 'unknown'}`
  if (record !== undefined) return `${name}  ${record.operation}  ${record.ending}${failed}`
  const dead = buried > 0 ? `, ${buried} put before a person` : ''
  return `${name}  ${plural(done, 'thing')} done in ${Math.round(tookMs)} ms${dead}${failed}`
}

function summary(done: Readonly<Record<WorkerName, number>>): string {
  return Object.entries(done)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
}
