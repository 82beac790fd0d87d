/**
 * `reprise init`.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { resolveOptions } from '../../stores/postgres/options.ts'
import type { Command, Context } from '../command.ts'
import { CliError } from '../errors.ts'
import { DATABASE_FLAGS, ORDER_FLAGS } from '../flag-sets.ts'
import { detect, FRAMEWORKS, MIGRATION_TOOLS, type ProjectKind } from '../init/detect.ts'
import { type PlannedFile, planFiles, writeFile } from '../init/plan.ts'
import { routeLine } from '../init/templates.ts'
import type { Output } from '../output.ts'
import { installCommand } from '../project.ts'
import { confirm } from '../prompt.ts'
import { plural } from '../words.ts'

/** `reprise init`. */
export const init: Command = {
  ...{ name: 'init', summary: 'Write the files that a project needs', config: 'ignored' },
  details: [
    'Finds out package manager, framework, ORM and module system; shows its plan; overwrites nothing without --force. A second run changes nothing.',
  ],
  flags: [
    { name: 'dry-run', type: 'switch', summary: 'Show the plan and write nothing' },
    { name: 'force', type: 'switch', summary: 'Overwrite files that differ' },
    {
      ...{ name: 'framework', type: 'choice', choices: FRAMEWORKS, value: '<name>' },
      summary: `Instead of the one found: ${FRAMEWORKS.join(', ')}`,
    },
    {
      ...{ name: 'migrations', type: 'choice', choices: MIGRATION_TOOLS, value: '<tool>' },
      summary: `Instead of the one found: ${MIGRATION_TOOLS.join(', ')}`,
    },
    ...DATABASE_FLAGS.filter(({ name }) => name === 'schema'),
    ...ORDER_FLAGS.filter(({ name }) => name === 'yes'),
  ],
  examples: [
    ['npx reprise init --dry-run', 'What it would write'],
    ['npx reprise init', 'Write it'],
  ],
  async run(context) {
    const { flags, io, out } = context
    const { cwd } = io
    if (!existsSync(join(cwd, 'package.json'))) {
      throw new CliError('REPRISE_E_CONFIG', `There is no package.json in ${cwd}.`, {
        hint: 'Change into the project, or start one: npm init -y',
      })
    }
    const { schema } = resolveOptions({ schema: flags.text('schema') ?? 'reprise' })
    const kind = chosen(detect(cwd), context)
    const plan = planFiles(kind, { cwd, schema, now: io.clock.unix() })
    const writes = plan.filter(
      ({ found }) => found === 'nothing' || (found === 'other' && flags.isOn('force')),
    )
    out.note(`Found: ${kindText(kind)}.`)
    out.note(planText(out, plan, writes))
    const isDryRun = flags.isOn('dry-run')
    if (!isDryRun) await write(context, writes)
    const steps = nextSteps(kind, cwd)
    const files = plan.map((file) => ({
      ...{ path: file.path, found: file.found, isWritten: !isDryRun && writes.includes(file) },
      ...(isDryRun ? { content: file.content } : {}),
    }))
    const done = isDryRun
      ? `Would write ${plural(writes.length, 'file')}.`
      : writes.length === 0
        ? 'Nothing to do.'
        : `Wrote ${plural(writes.length, 'file')}.`
    return {
      document: { ...kind, isDryRun, files, nextSteps: steps },
      text: [done, '', 'Next:', ...steps.map((step, at) => `  ${at + 1}. ${step}`)].join('\n'),
    }
  },
}

function chosen(kind: ProjectKind, { flags }: Context): ProjectKind {
  const framework = FRAMEWORKS.find((one) => one === flags.text('framework')) ?? kind.framework
  const tool = MIGRATION_TOOLS.find((one) => one === flags.text('migrations'))
  return { ...kind, framework, migrationTool: tool ?? kind.migrationTool }
}

function kindText({
  packageManager,
  framework,
  orm,
  isTypeScript,
  isModule,
  driver,
}: ProjectKind): string {
  const language = isTypeScript ? 'TypeScript' : 'JavaScript'
  const modules = isModule ? 'ES modules' : 'CommonJS'
  return [packageManager, framework, orm ?? 'no ORM', driver, language, modules].join(', ')
}

async function write(context: Context, writes: readonly PlannedFile[]): Promise<void> {
  const overwritten = writes.filter(({ found }) => found === 'other')
  if (overwritten.length > 0) {
    await confirm(context, `Overwrite ${overwritten.map(({ path }) => path).join(', ')}?`)
  }
  for (const file of writes) writeFile(context.io.cwd, file)
}

/** Files with more changes than this are not for reading here. */
const LINES_MAX = 40
const LINES_OF_LONG = 5

function planText(
  out: Output,
  plan: readonly PlannedFile[],
  writes: readonly PlannedFile[],
): string {
  return plan
    .map((file) => {
      if (file.found === 'same') return `  same   ${file.path}`
      if (!writes.includes(file)) return `  keep   ${file.path} (differs; --force overwrites it)`
      const verb = file.found === 'nothing' ? 'create' : 'change'
      return [`  ${verb} ${file.path}`, ...changes(out, file)].join('\n')
    })
    .join('\n')
}

function changes(out: Output, { old, content }: PlannedFile): readonly string[] {
  const before = old?.trimEnd().split('\n') ?? []
  const after = content.trimEnd().split('\n')
  const removed = before.filter((line) => !after.includes(line))
  const added = after.filter((line) => !before.includes(line))
  const lines = [
    ...removed.map((line) => out.paint('red', `    - ${line}`)),
    ...added.map((line) => out.paint('green', `    + ${line}`)),
  ]
  if (lines.length <= LINES_MAX) return lines
  const more = plural(lines.length - LINES_OF_LONG, 'line')
  return [...lines.slice(0, LINES_OF_LONG), `    … ${more} more`]
}

function nextSteps(kind: ProjectKind, cwd: string): readonly string[] {
  return [
    ...(kind.missing.length === 0 ? [] : [installCommand(cwd, ...kind.missing)]),
    'Set DATABASE_URL=postgres://user:password@host:5432/name',
    'npx reprise migrate up   (or bring the migration with your own tool)',
    `Protect a route: ${routeLine(kind)}`,
    `Send it twice: curl -i http://localhost:3000/charges -H 'Authorization: Bearer test' -H 'Idempotency-Key: k-1' -H 'Content-Type: application/json' -d '{"amount":1200}'`,
  ]
}
