/**
 * Reads Prometheus' text format, version 0.0.4, and refuses whatever is not in it.
 *
 * @module
 */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly help: string
  readonly type: string
  readonly samples: Sample[]
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/s
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/y

/** The families by name. Every sample must come under its own head, and no series twice. */
export function readPrometheus(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('The last line must end in a line feed.')
  const families = new Map<string, Family>()
  const series = new Set<string>()
  let help: readonly [string, string] | undefined
  let open: readonly [string, Family] | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (kind === 'HELP') {
      help = [name, rest]
      continue
    }
    if (kind === 'TYPE') {
      if (help?.[0] !== name || families.has(name)) throw new Error(`${name} has no head, or two.`)
      if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`No type: ${rest}`)
      open = [name, { help: help[1], type: rest, samples: [] }]
      families.set(...open)
      continue
    }
    const sample = readSample(line)
    if (open === undefined || !belongs(sample.name, open)) throw new Error(`Out of place: ${line}`)
    const id = JSON.stringify([
      sample.name,
      Object.entries(sample.labels).sort(([a], [b]) => (a < b ? -1 : 1)),
    ])
    if (series.has(id)) throw new Error(`Twice: ${line}`)
    series.add(id)
    open[1].samples.push(sample)
  }
  return families
}

function belongs(sample: string, [name, { type }]: readonly [string, Family]): boolean {
  if (type !== 'histogram') return sample === name
  return ['_bucket', '_sum', '_count'].some((part) => sample === name + part)
}

function readSample(line: string): Sample {
  const [, name, labels, number = ''] = SAMPLE.exec(line) ?? []
  if (name === undefined || !/^(\+Inf|-?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(number)) {
    throw new Error(`No sample: ${line}`)
  }
  return { name, labels: labels === undefined ? {} : readLabels(labels), value: Number(number) }
}

function readLabels(text: string): Readonly<Record<string, string>> {
  const labels: [string, string][] = []
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const [, name = '', value = ''] = LABEL.exec(text) ?? []
    if (name === '') throw new Error(`No labels: ${text}`)
    const unescaped = value.replaceAll(/\\(.)/g, (_, each: string) => (each === 'n' ? '\n' : each))
    labels.push([name, unescaped])
  }
  return Object.fromEntries(labels)
}
