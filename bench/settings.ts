/**
 * What the command line says.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import type { Turns } from './measure.ts'

/** What a run measures: variants beside others, or one of what takes a run of its own. */
export type Mode = 'variants' | 'growth' | 'reaping' | 'memory'

/** How a run goes. */
export interface Settings {
  readonly mode: Mode
  /** What grows in a run of growth. */
  readonly growth: {
    readonly records: readonly number[]
    readonly connections: readonly number[]
    readonly bodyBytes: readonly number[]
  }
  /** Expired records that are reaped. */
  readonly expired: number
  /** How long memory is watched. */
  readonly minutes: number
  /** Whether nothing is measured, and tables and charts are made of what was saved. */
  readonly isDrawn: boolean
  readonly turns: Turns
  readonly connections: readonly number[]
  /** Which variants; all where empty. */
  readonly only: readonly string[]
  /** Rows that PostgreSQL's records are sized with. */
  readonly rows: number
  readonly isQuick: boolean
  /** Whether the results and the chart replace those of the docs. */
  readonly isSaved: boolean
}

/** How it is used. */
export const USAGE = `Usage: npm run bench -- [options]
       npm run bench -- --growth | --reaping | --memory [--minutes <n>] [--quick] [--save]
       npm run bench -- --draw

  --only <text>       variants whose name contains it, such as express/transaction;
                      also young-generation, hot-key, sizes, imports; several, separated by
                      commas. Goals without their variant are not judged.
  --seconds <n>       length of a turn (default 1, quick 0.5)
  --turns <n>         pairs of turns for each comparison (default 5, quick 3)
  --connections <n>   such as 1,16,64 (the default; quick 64)
  --growth            instead of variants: latency and throughput over the number of records
                      (to ten million), of connections (to 256) and of bytes (to a megabyte);
                      half an hour, and 30 GB of disk while it runs
  --reaping           instead: two million expired records removed under traffic, by the reaper
                      and by one DELETE; some ten minutes
  --memory            instead: memory of servers under load
  --minutes <n>       for how long (default 10, quick 0.5)
  --quick             a first impression, in some minutes
  --save              write the results and charts of the docs (bench/results, docs/images), as
                      runs that are not quick and of everything do; others write
                      bench/results/part.json
  --draw              measure nothing: print the tables and draw the charts of what was saved
  --help              this text

Prints a table and the goals. Ctrl-C leaves out the variants that are still to come.`

/** Something that was asked for and can not be. */
export class UsageError extends Error {}

/**
 * Reads the arguments; `undefined` when help is asked for.
 *
 * @throws UsageError
 */
export function readSettings(args: readonly string[]): Settings | undefined {
  const { values } = parsed(args)
  if (values.help === true) return undefined
  const isQuick = values.quick === true
  return {
    ...{ isQuick, mode: modeOf(values), isDrawn: values.draw === true },
    growth: isQuick ? GROWTH_QUICK : GROWTH,
    expired: isQuick ? 200_000 : 2_000_000,
    minutes: number('minutes', values.minutes ?? (isQuick ? '0.5' : '10'), 0.1),
    isSaved: values.save === true || (!isQuick && values.only === undefined),
    turns: {
      count: number('turns', values.turns ?? (isQuick ? '3' : '5'), 1),
      seconds: number('seconds', values.seconds ?? (isQuick ? '0.5' : '1'), 0.1),
    },
    connections: (values.connections ?? (isQuick ? '64' : '1,16,64'))
      .split(',')
      .map((text) => number('connections', text, 1)),
    only: values.only?.split(',').filter((text) => text !== '') ?? [],
    rows: 100_000,
  }
}

const GROWTH: Settings['growth'] = {
  records: [1e3, 1e4, 1e5, 1e6, 1e7],
  connections: [1, 4, 16, 64, 256],
  bodyBytes: [300, 1000, 10_000, 100_000, 1_000_000],
}

const GROWTH_QUICK: Settings['growth'] = {
  records: [1e3, 1e4],
  connections: [1, 16, 64],
  bodyBytes: [300, 10_000, 1_000_000],
}

/** @throws UsageError when more than one is asked for */
function modeOf(values: ReturnType<typeof parsed>['values']): Mode {
  const modes = (['growth', 'reaping', 'memory'] as const).filter((mode) => values[mode] === true)
  if (modes.length > 1) throw new UsageError(`--${modes.join(' and --')} are runs of their own.`)
  return modes[0] ?? 'variants'
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string' },
        seconds: { type: 'string' },
        turns: { type: 'string' },
        connections: { type: 'string' },
        growth: { type: 'boolean' },
        reaping: { type: 'boolean' },
        memory: { type: 'boolean' },
        minutes: { type: 'string' },
        draw: { type: 'boolean' },
        quick: { type: 'boolean' },
        save: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function number(name: string, text: string, min: number): number {
  const value = Number(text)
  const mayBePart = name === 'seconds' || name === 'minutes'
  const isWhole = mayBePart || Number.isInteger(value)
  if (text.trim() !== '' && value >= min && value <= 10_000 && isWhole) return value
  const what = mayBePart ? 'a number' : 'a whole number'
  throw new UsageError(`--${name} takes ${what} from ${min} to 10000, not "${text}".`)
}
