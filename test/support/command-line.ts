/**
 * What the commands that play seeds and faults have in common: numbers and names of their options, and
 * how they end.
 *
 * @module
 */

/**
 * The whole number that an option was given.
 *
 * @throws Error that names the option, if it is none
 */
export function wholeNumber(option: string, text: string): number {
  const number = Number(text)
  if (text !== '' && Number.isSafeInteger(number) && number >= 0) return number
  throw new Error(`${option} takes a whole number, not ${text}.`)
}

/**
 * The names that an option was given, between commas.
 *
 * @throws Error that names the option and what it takes, if one is not among `known`
 */
export function namesOf<Name extends string>(
  option: string,
  text: string,
  known: readonly Name[],
): readonly Name[] {
  return text.split(',').map((given) => {
    const name = known.find((one) => one === given)
    if (name !== undefined) return name
    throw new Error(`${option} takes ${known.join(', ')}, not ${given}.`)
  })
}

/**
 * Runs a command and ends the process, with all that it has started: with an error if the command failed or
 * has set `process.exitCode`.
 */
export async function runCommand(main: () => Promise<void>): Promise<never> {
  try {
    await main()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
  process.exit()
}
