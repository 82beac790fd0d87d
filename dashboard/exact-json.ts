/**
 * JSON as a tree that keeps every digit: numbers stay as they are written.
 *
 * @module
 */

/** A value. */
export type Node =
  | { readonly kind: 'plain'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Node])[] }

const TOKEN = /\s*([{}[\],:]|"(?:[^"\\]|\\.)*"|[^\s{}[\],:"]+)/y

/** Reads JSON that is known to be well-formed. */
export function parseExact(json: string): Node {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(json); match !== null; match = TOKEN.exec(json)) {
    tokens.push(match[1] ?? '')
  }
  let at = 0
  const next = () => tokens[at++] ?? ''
  const node = (): Node => {
    const token = next()
    if (token.startsWith('"')) return { kind: 'text', text: JSON.parse(token) }
    if (token === '[') {
      const items: Node[] = []
      while (tokens[at] !== ']' && at < tokens.length) {
        items.push(node())
        if (tokens[at] === ',') at += 1
      }
      at += 1
      return { kind: 'list', items }
    }
    if (token !== '{') return { kind: 'plain', text: token }
    const members: [string, Node][] = []
    while (tokens[at] !== '}' && at < tokens.length) {
      const name: string = JSON.parse(next())
      at += 1
      members.push([name, node()])
      if (tokens[at] === ',') at += 1
    }
    at += 1
    return { kind: 'object', members }
  }
  return node()
}
