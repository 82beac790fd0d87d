import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/index.ts'
import { CLI_ERRORS, EXIT_MEANINGS } from '../../src/cli/errors.ts'
import { cli, project } from './harness.ts'

const root = join(import.meta.dirname, '../..')
const shown = COMMANDS.filter(({ isHidden }) => isHidden !== true)

describe('C-01 commands', () => {
  test('C-01 has every command that is promised', () => {
    const groups = new Set(shown.map(({ name }) => name))
    for (const name of [
      ...['init', 'dev', 'demo', 'migrate up', 'migrate down', 'migrate status', 'migrate sql'],
      ...['doctor', 'worker', 'dashboard', 'keys list', 'keys get', 'keys tail', 'keys resume'],
      ...['keys release', 'keys expire', 'dead list', 'dead show', 'dead resolve', 'stats', 'send'],
      ...['check', 'info', 'completion', 'version'],
    ]) {
      expect(groups, name).toContain(name)
    }
  })

  test.each([
    ['doctr', 'reprise doctor'],
    ['mig', 'reprise migrate'],
    ['keys lst', 'reprise keys list'],
  ])('C-01 asks whether %s means %s', async (typed, meant) => {
    const { exit, stderr } = await cli(typed.split(' '))
    expect(exit).toBe(2)
    expect(stderr).toContain(`Did you mean ${meant}?`)
  })

  test('C-01 asks the same of flags, and names the verbs of a group', async () => {
    const flag = await cli(['migrate', 'sql', '--form', 'sql'])
    expect(flag.stderr).toContain('Did you mean --from?')
    const group = await cli(['keys'])
    expect(group.exit).toBe(2)
    expect(group.stderr).toContain('keys tail')
  })
})

describe('C-02 exit codes', () => {
  test('C-02 are all in reprise help exit-codes', async () => {
    const { exit, stdout } = await cli(['help', 'exit-codes'])
    expect(exit).toBe(0)
    for (const code of Object.keys(EXIT_MEANINGS))
      expect(stdout).toMatch(new RegExp(`^ +${code} `, 'm'))
  })

  test.each([
    [['version', 'extra'], 'does not take "extra"'],
    [['migrate', 'sql', '--to', 'x'], 'no whole number'],
    [['migrate', 'sql', '--to', '999'], 'knows versions up to'],
    [['migrate', 'sql', '--format', 'x'], 'none of sql'],
    [['keys', 'get'], 'needs <id-or-key>'],
    [['keys', 'list', '--older-than', '5'], 'write 500ms, 30s'],
    [['send', 'http://127.0.0.1:1', '--times', '0'], 'from 1 to'],
    [['migrate', 'sql', '--schema', 'a"b'], 'schema'],
  ])('C-02 %j is 2 and says why', async (argv, why) => {
    const { exit, stderr, stdout } = await cli(argv)
    expect([exit, stdout]).toEqual([2, ''])
    expect(stderr).toContain(why)
    expect(stderr).not.toMatch(/\n {4}at /)
  })
})

describe('C-03 --json', () => {
  /** What makes each command end soon without a database. */
  const ends: Readonly<Record<string, readonly string[]>> = {
    ...{ 'keys get': ['x'], 'dead show': ['1'], 'dead resolve': ['1', '--way', 'resume'] },
    ...{ send: ['http://127.0.0.1:1/', '--times', '1'], check: ['http://127.0.0.1:1/'] },
    ...{ completion: ['bash'], 'keys resume': ['x'], 'keys release': ['x'], 'keys expire': ['x'] },
    ...{
      dashboard: ['--no-retry', '--port', '0'],
      dev: ['--no-retry', '--port', '0'],
      demo: ['--rounds', '0'],
    },
    ...{ init: ['--dry-run'] },
  }

  test.each(shown.map(({ name }) => name))(
    'C-03 %s prints one document, also when it fails',
    async (name) => {
      const cwd = project({ 'package.json': '{}' }, ['pg'])
      const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
      const argv = [...name.split(' '), ...(ends[name] ?? []), '--json']
      const { exit, stdout } = await cli(argv, { cwd, env })
      // `dashboard` says where it is before it finds that its store is down.
      const document = JSON.parse(stdout)
      expect(document).toBeTypeOf('object')
      if (exit !== 0 && 'error' in document) {
        expect(document.error).toEqual(
          expect.objectContaining({
            code: expect.any(String),
            message: expect.any(String),
            docs: expect.any(String),
          }),
        )
      }
    },
  )

  test('C-03 an error is a document with code, message, hint and docs', async () => {
    const { exit, document, stderr } = await cli(['nothing', '--json'])
    expect(exit).toBe(2)
    expect(document).toEqual({
      error: {
        ...{ code: 'REPRISE_E_USAGE', message: 'There is no command nothing.' },
        ...{ hint: expect.any(String), docs: join(root, 'docs/cli.md#reprise_e_usage') },
      },
    })
    expect(stderr).toBe('')
  })
})

describe('C-05 colours', () => {
  const failing = ['doctr']

  test.each([
    [{}, undefined, false],
    [{ FORCE_COLOR: '1' }, undefined, true],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, undefined, false],
    [{}, [], true],
    [{ NO_COLOR: '1' }, [], false],
  ])('C-05 env %j, terminal %j: %s', async (env, typed, isColored) => {
    const { stderr } = await cli(failing, { env, ...(typed === undefined ? {} : { typed }) })
    expect(stderr.includes('\u001b[31m')).toBe(isColored)
    // The word is there with and without.
    expect(stderr).toContain('error')
  })
})

describe('C-07 errors', () => {
  test('C-07 every code is in docs/cli.md, and no other', () => {
    const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
    const named = new Set(page.match(/REPRISE_E_[A-Z_]+/g))
    expect([...named].sort()).toEqual(Object.keys(CLI_ERRORS).sort())
    for (const code of named) expect(page).toContain(`<a id="${code.toLowerCase()}"></a>`)
  })

  test('C-07 says what failed, what the driver said, the cause, the fix, code and page', async () => {
    const cwd = project({}, ['pg'])
    const env = { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' }
    const { exit, stderr } = await cli(['migrate', 'status'], { cwd, env })
    expect(exit).toBe(5)
    expect(stderr).toMatch(/error: The database can not be reached \(ECONNREFUSED\)\./)
    expect(stderr).toContain('ECONNREFUSED')
    expect(stderr).toMatch(/cause: Nothing listens/)
    expect(stderr).toMatch(/fix: +Start PostgreSQL/)
    expect(stderr).toContain(
      `REPRISE_E_UNREACHABLE ${join(root, 'docs/cli.md')}#reprise_e_unreachable`,
    )
    expect(stderr).not.toContain('secret')
    expect(stderr).not.toMatch(/\n {4}at /)
    expect((await cli(['migrate', 'status', '--verbose'], { cwd, env })).stderr).toMatch(
      /\n {4}at /,
    )
  })

  test('C-07 a bug says that it is one, whom to tell and what it ran on', async () => {
    const command = COMMANDS.find(({ name }) => name === 'version')
    const { run } = command ?? {}
    Object.assign(command ?? {}, { run: () => Promise.reject(new TypeError('oh')) })
    const { exit, stderr } = await cli(['version'])
    Object.assign(command ?? {}, { run })
    expect(exit).toBe(1)
    expect(stderr).toMatch(/This is a bug of reprise: oh/)
    expect(stderr).toContain('Report it to those who gave you this package')
    expect(stderr).toContain(`"node":"${process.versions.node}"`)
  })

  test('C-07 without a database it says how to name one', async () => {
    const { exit, stderr } = await cli(['keys', 'list'])
    expect(exit).toBe(2)
    expect(stderr).toContain('Set DATABASE_URL=')
  })
})

describe('C-08 settings', () => {
  const info = async (
    argv: readonly string[],
    env: Record<string, string>,
    files: Record<string, string>,
  ) => {
    const { document } = await cli(['info', '--json', ...argv], { cwd: project(files), env })
    const { settings } = document as { settings: { name: string; value: string; source: string }[] }
    return new Map(settings.map((one) => [one.name, one]))
  }
  const config = { 'reprise.config.mjs': `export default { schema: 'configured' }` }

  test('C-08 flag, then environment, then configuration, then default, each with its source', async () => {
    const env = { REPRISE_SCHEMA: 'environment' }
    const [flag, variable, file, preset] = await Promise.all([
      info(['--schema', 'flag'], env, config),
      info([], env, config),
      info([], {}, config),
      info([], {}, {}),
    ])
    expect(flag.get('schema')).toEqual({ name: 'schema', value: 'flag', source: 'flag --schema' })
    expect(variable.get('schema')).toMatchObject({
      value: 'environment',
      source: 'env REPRISE_SCHEMA',
    })
    expect(file.get('schema')).toMatchObject({ value: 'configured', source: 'reprise.config.mjs' })
    expect(preset.get('schema')).toMatchObject({ value: 'reprise', source: 'default' })
  })

  test('C-08 reads JSON and TypeScript, too', async () => {
    const json = await info([], {}, { 'reprise.config.json': '{"schema":"j"}' })
    expect(json.get('schema')).toMatchObject({ value: 'j', source: 'reprise.config.json' })
    const cwd = project(
      { 'reprise.config.ts': `const schema: string = 't'\nexport default { schema }` },
      ['tsx'],
    )
    const { document } = await cli(['info', '--json'], { cwd })
    expect(JSON.stringify(document)).toContain('"value":"t"')
  })

  test('C-08 shows no password', async () => {
    const settings = await info(
      [],
      { DATABASE_URL: 'postgres://app:hunter2@db:5432/shop?sslpassword=x' },
      {},
    )
    expect(settings.get('database-url')?.value).toBe('postgres://app:***@db:5432/shop')
  })

  test('C-08 a configuration that can not be read is told, and 2 elsewhere', async () => {
    const files = { 'reprise.config.mjs': 'throw new Error("broken on purpose")' }
    const { document } = await cli(['info', '--json'], { cwd: project(files) })
    expect(document).toMatchObject({ configError: expect.stringContaining('broken on purpose') })
    const other = await cli(['keys', 'list'], { cwd: project(files) })
    expect(other.exit).toBe(2)
    expect(other.stderr).toContain('broken on purpose')
  })
})

describe('C-09 help', () => {
  test.each(shown.map(({ name }) => name))(
    'C-09 %s has an example, defaults, variables, and 80 columns',
    async (name) => {
      const { exit, stdout } = await cli([...name.split(' '), '--help'])
      const command = shown.find((one) => one.name === name)
      expect(exit).toBe(0)
      expect(stdout).toMatch(/Examples:\n +# .+\n(.*\n)? +\S+/)
      for (const line of stdout.split('\n')) {
        // A command line is for copying and is not broken.
        if (!/^ {2}(npx|eval|DATABASE_URL)/.test(line))
          expect(line.length, line).toBeLessThanOrEqual(80)
      }
      const words = stdout.replaceAll(/\s+/g, ' ')
      for (const { default: preset, env = [] } of command?.flags ?? []) {
        if (preset !== undefined) expect(words).toContain(`[${preset}]`)
        if (env[0] !== undefined) expect(words).toContain(env[0])
      }
    },
  )

  test('C-09 every example can be read by the command it is for', async () => {
    for (const { name, examples } of shown) {
      for (const [line] of examples)
        expect(line, name).toContain(`reprise ${name.split(' ')[0] ?? ''}`)
    }
  })
})

test.each(['bash', 'zsh', 'fish'])('C-10 prints completions for %s', async (shell) => {
  const { exit, stdout } = await cli(['completion', shell])
  expect(exit).toBe(0)
  for (const word of ['migrate', 'tail', 'older-than']) expect(stdout).toContain(word)
})
