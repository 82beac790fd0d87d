/**
 * What the command line says.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import type { Turns } from './measure.ts'

/** How a run goes. */
export interface Settings {
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

  --only <text>       variants whose name contains it, such as express/transaction;
                      also hot-key, sizes, imports; several, separated by commas. Goals
                      without their variant are not judged.
  --seconds <n>       length of a turn (default 1, quick 0.5)
  --turns <n>         pairs of turns for each comparison (default 5, quick 3)
  --connections <n>   such as 1,16,64 (the default; quick 64)
  --quick             a first impression, in some minutes
  --save              write bench/results/latest.json and docs/images/benchmarks.svg, as a
                      run of everything does; others write bench/results/part.json
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
    isQuick,
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

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string' },
        seconds: { type: 'string' },
        turns: { type: 'string' },
        connections: { type: 'string' },
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
  const isWhole = name === 'seconds' || Number.isInteger(value)
  if (text.trim() !== '' && value >= min && value <= 10_000 && isWhole) return value
  const what = name === 'seconds' ? 'a number' : 'a whole number'
  throw new UsageError(`--${name} takes ${what} from ${min} to 10000, not "${text}".`)
}
