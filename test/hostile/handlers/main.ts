/**
 * `npm run handlers -- [--programs 10000] [--seed 1] [--client pg,postgres-js] [--replay 7] [--lanes 12]`:
 * handlers that behave badly, by seed. `--replay` plays the case of one seed again and again, and makes
 * it smaller when it goes wrong.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { query, startPostgres } from '../../../scripts/servers/postgres.ts'
import { namesOf, runCommand, wholeNumber } from '../../support/command-line.ts'
import { CLIENTS, clientSource } from './clients.ts'
import { playSeason, printViolation, Theatre } from './play.ts'
import type { OwnDatabase } from './postgres.ts'

const REPLAYS = 50
/** How many kinds of apps there are: pools of one to three connections, with and without latency. */
const APPS = 6

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      programs: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
      client: { type: 'string', default: CLIENTS.join() },
      lanes: { type: 'string', default: '12' },
      violations: { type: 'string', default: '1' },
      replay: { type: 'string' },
    },
  })
  const names = namesOf('--client', values.client, CLIENTS)
  const server = await startPostgres()
  const makeDatabase = () => ownDatabase(server.url)
  const programs = Math.ceil(wholeNumber('--programs', values.programs) / names.length)
  const lanes = wholeNumber('--lanes', values.lanes)
  const violationsMax = wholeNumber('--violations', values.violations)
  for (const name of names) {
    const theatre = new Theatre(await clientSource(name, makeDatabase), Math.ceil(lanes / APPS))
    if (values.replay !== undefined) {
      await replay(theatre, wholeNumber('--replay', values.replay))
    } else {
      const seed = wholeNumber('--seed', values.seed)
      await season(theatre, { seed, programs, lanes, violationsMax })
    }
    await theatre.close()
  }
  await server.stop()
}

interface Plan {
  readonly seed: number
  readonly programs: number
  readonly lanes: number
  readonly violationsMax: number
}

async function season(theatre: Theatre, plan: Plan): Promise<void> {
  const began = performance.now()
  let toldAt = began
  const perSecond = (count: number) => Math.round((1000 * count) / (performance.now() - began))
  const { name } = theatre.source
  const report = await playSeason(theatre, {
    ...plan,
    onCase({ programs, seed, violation }) {
      if (violation !== undefined) console.log(printViolation(violation))
      if (performance.now() - toldAt < 30_000) return
      toldAt = performance.now()
      console.error(`${name}: ${programs} programs, ${perSecond(programs)} a second, seed ${seed}`)
    },
  })
  const { programs, cases, violations } = report
  console.log(
    `${name}: ${programs} programs in ${cases} cases from seed ${plan.seed}, ` +
      `${perSecond(programs)} a second, ${violations.length} violations`,
  )
  if (violations.length > 0) process.exitCode = 1
  if (plan.violationsMax > 1) return
  for (const violation of violations) {
    console.log(`\nSmaller:\n${printViolation(await theatre.shrink(violation))}`)
  }
}

async function replay(theatre: Theatre, seed: number): Promise<void> {
  const violation = await theatre.playOften(theatre.caseOf(seed), REPLAYS)
  if (violation === undefined) {
    console.log(`${theatre.source.name}: seed ${seed} went well ${REPLAYS} times`)
    return
  }
  process.exitCode = 1
  console.log(printViolation(violation))
  console.log(`\nSmaller:\n${printViolation(await theatre.shrink(violation))}`)
}

async function ownDatabase(serverUrl: string): Promise<OwnDatabase> {
  const name = `reprise_handlers_${randomBytes(6).toString('hex')}`
  await query(serverUrl, `create database ${name} template template0`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const drop = async () => {
    await query(serverUrl, `drop database if exists ${name} with (force)`)
  }
  return { url: url.href, drop }
}

await runCommand(main)
