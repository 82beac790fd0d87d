/**
 * `reprise doctor`.
 *
 * @module
 */

import { appliedMigrations } from '../../stores/postgres/migrate.ts'
import type { Command, Context, Result } from '../command.ts'
import { type Database, openDatabase } from '../database.ts'
import {
  type Check,
  type Finding,
  failed,
  fine,
  type Level,
  type Patient,
} from '../doctor/check.ts'
import { checkDrift, checkVersion } from '../doctor/schema-checks.ts'
import {
  checkClock,
  checkDriver,
  checkPooler,
  checkPrivileges,
  checkServer,
} from '../doctor/server-checks.ts'
import { checkBloat, checkSettings } from '../doctor/traffic-checks.ts'
import { checkWork } from '../doctor/work-checks.ts'
import { EXIT } from '../errors.ts'
import { describeFailure } from '../failure.ts'
import { DATABASE_FLAGS, ORDER_FLAGS } from '../flag-sets.ts'
import { type Color, type Output, printable } from '../output.ts'
import { confirm } from '../prompt.ts'
import { plural } from '../words.ts'

const CHECKS: readonly Check[] = [
  ...[checkServer, checkDriver, checkVersion, checkDrift, checkPrivileges, checkPooler, checkClock],
  ...[checkWork, checkBloat, checkSettings],
]

/** `reprise doctor`. */
export const doctor: Command = {
  ...{
    name: 'doctor',
    summary: 'Look for what is wrong, and say what mends it',
    config: 'optional',
  },
  details: [
    'Ends with 3 if a check says FAIL; warnings do not change that. Changes nothing without --fix.',
  ],
  flags: [
    ...DATABASE_FLAGS,
    {
      ...{ name: 'role', type: 'text', value: '<name>', env: ['REPRISE_ROLE'], config: 'role' },
      summary: 'Role that the app runs under; the own one if not given',
    },
    { name: 'fix', type: 'switch', summary: 'Mend what can be mended without risk' },
    ...ORDER_FLAGS.filter(({ name }) => name === 'yes'),
  ],
  examples: [
    ['npx reprise doctor', 'Everything'],
    ['npx reprise doctor --role app --json', 'What the app itself may do, for a script'],
    ['npx reprise doctor --fix --yes', 'Migrate, put back what is missing, vacuum'],
  ],
  async run(context) {
    const opened = await connect(context)
    if ('level' in opened) return report([opened], context.out, EXIT.unreachable)
    try {
      const findings = await examine(context, opened)
      if (!context.flags.isOn('fix')) return report(findings, context.out)
      await mend(context, findings)
      return report(await examine(context, opened), context.out)
    } finally {
      await opened.close().catch(() => {})
    }
  },
}

/** The database; or the finding that there is none. What is wrong on the line is thrown. */
async function connect(context: Context): Promise<Database | Finding> {
  try {
    return await openDatabase(context)
  } catch (error) {
    const { exit, message, driver, reason, hint = '' } = describeFailure(error)
    if (exit !== EXIT.unreachable) throw error
    const said = [message, driver, reason].filter((part) => part !== undefined).join(' ')
    return failed('connect', said, hint)
  }
}

async function examine(context: Context, database: Database): Promise<readonly Finding[]> {
  const findings: Finding[] = [fine('connect', `${database.label} by ${database.driver}`)]
  const applied = await appliedMigrations(database.client, database.schema)
  const patient: Patient = { context, database, applied, hasSchema: applied.length > 0 }
  for (const check of CHECKS) {
    findings.push(
      ...(await check(patient).catch((error: unknown) => [couldNot(check.name, error)])),
    )
  }
  return findings
}

/** A check that fails itself says so, and the others go on. */
function couldNot(name: string, error: unknown): Finding {
  const { message, driver = '', hint = '' } = describeFailure(error)
  const check = name.replace(/^check/, '').toLowerCase()
  return failed(check, `Could not be checked: ${message} ${driver}`.trim(), hint)
}

async function mend(context: Context, findings: readonly Finding[]): Promise<void> {
  for (const { check, repair } of findings) {
    if (repair === undefined) continue
    await confirm(context, `${check}: ${repair.text}?`)
    await repair.apply()
    context.out.note(`fixed ${check}: ${repair.text}`)
  }
}

const COLORS: Readonly<Record<Level, Color>> = { ok: 'green', warn: 'yellow', FAIL: 'red' }

function report(findings: readonly Finding[], out: Output, exit?: Result['exit']): Result {
  const count = (wanted: Level) => findings.filter(({ level }) => level === wanted).length
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, level, text, fix = [] }) => [
    `${out.paint(COLORS[level], level.padEnd(4))}  ${check.padEnd(width)}  ${printable(text)}`,
    ...fix.filter((one) => one !== '').map((one) => indented(one, width)),
  ])
  const summary = `${plural(count('FAIL'), 'failure')}, ${plural(count('warn'), 'warning')}, ${plural(count('ok'), 'check')} ok`
  const checks = findings.map(({ check, level, text, fix = [] }) => ({ check, level, text, fix }))
  return {
    exit: exit ?? (count('FAIL') > 0 ? EXIT.problems : EXIT.ok),
    document: { failures: count('FAIL'), warnings: count('warn'), checks },
    text: [...lines, '', summary].join('\n'),
  }
}

/** Repair SQL has lines of its own, to be copied. */
function indented(fix: string, width: number): string {
  const margin = ' '.repeat(width + 8)
  return fix
    .split('\n')
    .map((line, at) => `${margin}${at === 0 ? 'fix: ' : '     '}${line}`)
    .join('\n')
}
