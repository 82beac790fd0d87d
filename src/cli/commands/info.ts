import type { Command, Flag } from '../command.ts'
import { hasPgVariables, maskUrl } from '../database.ts'
import { environmentOf } from '../environment.ts'
import { DATABASE_FLAGS, ORDER_FLAGS, portFlag, SERVER_FLAGS } from '../flag-sets.ts'
import { pairs, table } from '../output.ts'
import { hasPackage, packageManagerOf } from '../project.ts'

const SETTINGS: readonly Flag[] = [
  ...DATABASE_FLAGS,
  ...ORDER_FLAGS.filter(({ name }) => name === 'author'),
  ...SERVER_FLAGS,
  portFlag(4400),
]

/** `reprise info`. */
export const info: Command = {
  ...{ name: 'info', summary: 'Show every setting and where it comes from' },
  ...{ flags: SETTINGS, config: 'optional' },
  details: [
    'A flag wins over the environment, that over the configuration file, that over the default.',
  ],
  examples: [
    ['npx reprise info', 'For a bug report; passwords are not shown'],
    ['npx reprise info --json', 'The same for a script'],
  ],
  async run({ io, flags, project }) {
    const settings = SETTINGS.map((flag) => {
      const { value, source } = flags.sourced(flag.name)
      const shown = flag.isSecret === true && value !== undefined ? maskUrl(value) : value
      if (flag.name === 'database-url' && value === undefined && hasPgVariables(io.env)) {
        return { name: flag.name, value: '(libpq)', source: 'env PGHOST, PGDATABASE …' }
      }
      return { name: flag.name, value: shown ?? null, source }
    })
    const environment = environmentOf(io)
    const drivers = installed(project.cwd)
    const config = project.configPath ?? null
    const configError = project.configError?.message ?? null
    const packageManager = packageManagerOf(project.cwd)
    const rows = settings.map(({ name, value, source }) => [name, value ?? '-', source])
    const facts = pairs([
      ['reprise', environment.reprise],
      ['node', `${environment.node} (${environment.platform})`],
      ['folder', project.cwd],
      ['configuration', configError ?? config ?? 'none'],
      ['drivers', drivers.join(', ') || 'none'],
      ['package manager', packageManager],
    ])
    const document = {
      ...environment,
      cwd: project.cwd,
      config,
      configError,
      drivers,
      packageManager,
    }
    return {
      document: { ...document, settings },
      text: `${facts}\n\n${table(['SETTING', 'VALUE', 'SOURCE'], rows)}`,
    }
  },
}

const DRIVERS = ['pg', 'postgres', '@electric-sql/pglite', 'ioredis', 'redis', 'better-sqlite3']

function installed(cwd: string): readonly string[] {
  return DRIVERS.filter((name) => hasPackage(cwd, name))
}
