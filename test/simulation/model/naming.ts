/**
 * Names that mean nothing are left out of a state. Processes differ by what they were told, and are
 * numbered in the order of that; tokens are compared and nothing else, and are numbered by whose they
 * are or, where nobody uses them any more, in the order in which they come.
 *
 * @module
 */

/** A process, of which something is under way. */
export interface Named {
  readonly name: string
  /** What its future depends on. */
  readonly text: string
  /** How many tokens it had made when it began with what it does. */
  readonly base: number
}

const TOKEN = /\b(p\d+)\.(\d+)\b/g

/** The state of the surroundings and of processes, without names. */
export function nameless(surroundings: readonly string[], processes: readonly Named[]): string {
  const told = processes.map((one) => {
    const key = one.text.replaceAll(TOKEN, (_token, name: string, number: string) => {
      if (name !== one.name || Number(number) <= one.base) return '?'
      return `own ${Number(number) - one.base}`
    })
    return { ...one, key }
  })
  const ordered = told.sort((one, other) =>
    one.key < other.key ? -1 : Number(one.key > other.key),
  )
  const bases = new Map(ordered.map(({ name, base }, at) => [name, { base, at }]))
  const others = new Map<string, number>()
  const all = [...ordered.map(({ text }) => text), ...surroundings].join('\n')
  return all.replaceAll(TOKEN, (token, name: string, number: string) => {
    const { base, at } = bases.get(name) ?? { base: Number.POSITIVE_INFINITY, at: 0 }
    if (Number(number) > base) return `#${at}+${Number(number) - base}`
    if (!others.has(token)) others.set(token, others.size)
    return `#${others.get(token)}`
  })
}
