/**
 * `npm run mutate`: plants single mistakes and says which share of them the tests notice.
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { runMutants } from './run.ts'

const USAGE = `npm run mutate                                every mistake
npm run mutate -- --sample 400 --seed 7       so many by chance, as many of each folder
npm run mutate -- --only src/engine/lease.ts  those of files whose path contains the text
npm run mutate -- --match "Lease.#lose"       those whose name contains the text
npm run mutate -- --known                     the mistakes that were harmful once
  --processes 2    in so many processes; two unless given
  --fresh          also what an earlier run has tried
  --list           names them, and tries none`

function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      ...{ sample: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
      ...{ match: { type: 'string' }, known: { type: 'boolean' }, fresh: { type: 'boolean' } },
      ...{ processes: { type: 'string' }, list: { type: 'boolean' }, help: { type: 'boolean' } },
    },
  })
  if (values.help) {
    console.log(USAGE)
    return Promise.resolve(0)
  }
  return runMutants({
    sample: values.sample === undefined ? undefined : wholeNumber(values.sample),
    seed: values.seed === undefined ? 1 : wholeNumber(values.seed),
    only: values.only,
    match: values.match,
    isKnown: values.known === true,
    isFresh: values.fresh === true,
    isList: values.list === true,
    processes: values.processes === undefined ? 2 : wholeNumber(values.processes),
  })
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new Error(`A whole number from 1 is needed, not ${text}.\n${USAGE}`)
}

process.exitCode = await main()
