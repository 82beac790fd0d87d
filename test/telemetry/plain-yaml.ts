/**
 * Reads the part of YAML that our rules are written in, and refuses everything else: mappings, lists,
 * plain and double-quoted scalars on one line, and folded ones.
 *
 * @module
 */

export type Yaml = string | readonly Yaml[] | { readonly [name: string]: Yaml }

interface Line {
  readonly indent: number
  readonly text: string
}

/** What a document says. */
export function readYaml(text: string): Yaml {
  if (text.includes('\t')) throw new Error('Tabs are no indentation.')
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(#.*)?$/.test(line))
    .map((line) => ({ indent: line.length - line.trimStart().length, text: line.trim() }))
  const value = readBlock(lines, 0)
  if (lines.length > 0) throw new Error(`Out of place: ${lines[0]?.text}`)
  return value
}

function readBlock(lines: Line[], indent: number): Yaml {
  const isList = lines[0]?.text.startsWith('- ') === true
  return isList ? readList(lines, indent) : readMapping(lines, indent)
}

function readList(lines: Line[], indent: number): readonly Yaml[] {
  const items: Yaml[] = []
  while (lines[0]?.indent === indent && lines[0].text.startsWith('- ')) {
    lines[0] = { indent: indent + 2, text: lines[0].text.slice(2) }
    items.push(readMapping(lines, indent + 2))
  }
  return items
}

function readMapping(lines: Line[], indent: number): Yaml {
  const entries = new Map<string, Yaml>()
  while (lines[0]?.indent === indent && !lines[0].text.startsWith('- ')) {
    const [, name = '', rest = ''] = /^([A-Za-z_]\w*):(?: (.*))?$/.exec(lines[0].text) ?? []
    if (name === '' || entries.has(name)) throw new Error(`No entry: ${lines[0].text}`)
    lines.shift()
    entries.set(name, readValue(lines, rest, indent))
  }
  if (entries.size === 0) throw new Error(`Nothing at ${lines[0]?.text}`)
  return Object.fromEntries(entries)
}

function readValue(lines: Line[], rest: string, indent: number): Yaml {
  const next = lines[0]?.indent ?? 0
  if (rest === '>-') {
    const folded: string[] = []
    while ((lines[0]?.indent ?? 0) > indent) folded.push(lines.shift()?.text ?? '')
    return folded.join(' ')
  }
  if (rest === '') {
    if (next <= indent) throw new Error('A name without a value.')
    return readBlock(lines, next)
  }
  if (next > indent) throw new Error(`Out of place: ${lines[0]?.text}`)
  return readScalar(rest)
}

function readScalar(text: string): string {
  if (text.startsWith('"')) return String(JSON.parse(text))
  // What would be read as something else has to be quoted.
  if (/^[[\]{}&*!|>%@`'#,?:-]|: | #|:$/.test(text)) throw new Error(`To be quoted: ${text}`)
  return text
}
