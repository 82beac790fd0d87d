/**
 * `reprise completion`.
 *
 * @module
 */

import type { Command } from '../command.ts'
import { usage } from '../errors.ts'
import { GLOBAL_FLAGS } from '../flag-sets.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** `reprise completion`, for the commands that are given. */
export function completionOf(commands: () => readonly Command[]): Command {
  return {
    ...{ name: 'completion', summary: 'Print completions for bash, zsh or fish', args: '<shell>' },
    ...{ flags: [], config: 'ignored' },
    examples: [
      ['eval "$(npx reprise completion bash)"', 'In ~/.bashrc'],
      ['npx reprise completion fish > ~/.config/fish/completions/reprise.fish', 'For fish'],
    ],
    async run({ args }) {
      const shell = SHELLS.find((one) => one === args[0])
      if (shell === undefined)
        throw usage(
          `There are no completions for "${args[0] ?? ''}".`,
          `One of: ${SHELLS.join(', ')}`,
        )
      const shown = commands().filter(({ isHidden }) => isHidden !== true)
      const script = shell === 'fish' ? fish(shown) : bash(shown, shell === 'zsh')
      return { document: { shell, script }, text: script }
    },
  }
}

function flagsOf(command: Command): string {
  return [...command.flags, ...GLOBAL_FLAGS].map(({ name }) => `--${name}`).join(' ')
}

function bash(commands: readonly Command[], isZsh: boolean): string {
  const firsts = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
  const verbs = firsts.flatMap((first) => {
    const own = commands.filter(({ name }) => name.startsWith(`${first} `))
    const words = own.map(({ name }) => name.slice(first.length + 1)).join(' ')
    return own.length === 0 ? [] : [`      ${first}) words='${words}' ;;`]
  })
  const flags = commands.map((command) => `    '${command.name}') flags='${flagsOf(command)}' ;;`)
  return [
    ...(isZsh ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    '_reprise() {',
    '  local word="${COMP_WORDS[COMP_CWORD]}" one="${COMP_WORDS[1]}" two="${COMP_WORDS[2]}"',
    `  local words='' flags=''`,
    `  if [ "$COMP_CWORD" -eq 1 ]; then words='${firsts.join(' ')} help'`,
    ...(verbs.length === 0
      ? []
      : ['  elif [ "$COMP_CWORD" -eq 2 ]; then', '    case "$one" in', ...verbs, '    esac']),
    ...['  fi', '  case "$one" in', ...flags.filter((line) => !/^ {4}'\S+ /.test(line)), '  esac'],
    ...['  case "$one $two" in', ...flags.filter((line) => /^ {4}'\S+ /.test(line)), '  esac'],
    '  case "$word" in -*) words="$flags" ;; esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    ...['}', 'complete -F _reprise reprise'],
  ].join('\n')
}

function fish(commands: readonly Command[]): string {
  return commands
    .flatMap((command) => {
      const [first = '', second] = command.name.split(' ')
      const start = 'complete -c reprise -f'
      const told = `-d '${command.summary.replaceAll("'", '’')}'`
      const seen =
        second === undefined ? first : `${first}; and __fish_seen_subcommand_from ${second}`
      const word =
        second === undefined
          ? `${start} -n __fish_use_subcommand -a ${first} ${told}`
          : `${start} -n '__fish_seen_subcommand_from ${first}' -a ${second} ${told}`
      const flags = [...command.flags, ...GLOBAL_FLAGS].map(
        ({ name }) => `${start} -n '__fish_seen_subcommand_from ${seen}' -l ${name}`,
      )
      return [word, ...flags]
    })
    .join('\n')
}
