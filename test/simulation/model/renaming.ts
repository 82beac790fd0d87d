/** Every way to exchange the names of processes that are asked the same. */
export function renamingsOf(asked: readonly string[]): readonly ReadonlyMap<string, string>[] {
  const names = asked.map((_, at) => `p${at + 1}`)
  return orders(names)
    .filter((order) => order.every((name, at) => asked[names.indexOf(name)] === asked[at]))
    .map((order) => new Map(order.map((name, at) => [name, names[at] ?? name])))
}

function orders(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length === 0) return [[]]
  return names.flatMap((name) => {
    return orders(names.filter((other) => other !== name)).map((order) => [name, ...order])
  })
}

/** The state under other names, as one text. */
export function renamed(state: readonly string[], renaming: ReadonlyMap<string, string>): string {
  return state
    .map((text) => text.replaceAll(/\bp\d\b/g, (name) => renaming.get(name) ?? name))
    .sort()
    .join('\n')
}
