/**
 * Charts of lines over a quantity that grows tenfold and more: logarithmic axes, SVG that reads well
 * on light and dark pages.
 *
 * @module
 */

/** What a chart shows. */
export interface LineChart {
  readonly title: string
  /** A second line: conditions and date. */
  readonly subtitle: string
  /** What the axes measure, with their unit. */
  readonly x: string
  readonly y: string
  readonly lines: readonly Line[]
  /** A bound that is drawn across, with its name. */
  readonly bound?: { readonly at: number; readonly name: string }
}

/** One line. */
export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

const WIDTH = 760
const HEIGHT = 400
const LEFT = 64
const RIGHT = 20
const TOP = 96
const BOTTOM = 48

/** Lines are told apart by colour and by dashes. */
const DASHES = ['none', '7 4', '2 3', '10 3 2 3']

/** Draws it; a chart without points is empty. */
export function linesOf(chart: LineChart): string {
  const { title, subtitle, lines, bound } = chart
  const points = lines.flatMap((line) => line.points)
  const xs = scale(
    points.map(([x]) => x),
    [LEFT, WIDTH - RIGHT],
  )
  const ys = scale(
    [...points.map(([, y]) => y), ...(bound ? [bound.at] : [])],
    [HEIGHT - BOTTOM, TOP],
  )
  const parts = [
    ...xs.ticks.map((x) => gridX(xs.at(x), short(x))),
    ...ys.ticks.map((y) => gridY(ys.at(y), short(y))),
    ...(bound ? [boundAt(ys.at(bound.at), bound.name)] : []),
    ...lines.map((line, index) => lineOf(line, { index, xs, ys })),
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${escaped(chart.x)}</text>`,
    `<text transform="translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escaped(chart.y)}</text>`,
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2937 }
    .grid { stroke: #d1d5db } .bound { stroke: #b91c1c; stroke-dasharray: 4 3 }
    .title { font-weight: 600 } .line { fill: none; stroke-width: 2 }
    .c0 { stroke: #2563eb } .c1 { stroke: #b45309 } .c2 { stroke: #047857 } .c3 { stroke: #7c3aed }
    .d0 { fill: #2563eb } .d1 { fill: #b45309 } .d2 { fill: #047857 } .d3 { fill: #7c3aed }
    @media (prefers-color-scheme: dark) {
      text { fill: #e5e7eb } .grid { stroke: #374151 } .bound { stroke: #f87171 }
      .c0 { stroke: #60a5fa } .c1 { stroke: #fbbf24 } .c2 { stroke: #34d399 } .c3 { stroke: #c4b5fd }
      .d0 { fill: #60a5fa } .d1 { fill: #fbbf24 } .d2 { fill: #34d399 } .d3 { fill: #c4b5fd }
    }
  </style>
  <text x="8" y="20" class="title">${escaped(title)}</text>
  <text x="8" y="40">${escaped(subtitle)}</text>
  ${legendOf(lines)}
  ${parts.join('\n  ')}
</svg>
`
}

interface Scale {
  at(value: number): number
  readonly ticks: readonly number[]
}

/** A logarithmic axis with 1, 2 and 5 of every power of ten marked, or only the powers if there are many. */
function scale(values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const low = Math.min(...values)
  const high = Math.max(...values)
  const powers = Math.log10(high / low) > 2.5 ? [1] : [1, 2, 5]
  const marks: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    marks.push(...powers.map((one) => one * 10 ** power))
  }
  const start = marks.filter((mark) => mark <= low * 1.001).at(-1) ?? low
  const end = marks.find((mark) => mark >= high * 0.999 && mark > start) ?? high
  const share = (value: number) => Math.log(value / start) / Math.log(end / start)
  return {
    at: (value) => from + share(value) * (to - from),
    ticks: marks.filter((mark) => mark >= start && mark <= end),
  }
}

function lineOf(
  { points }: Line,
  { index, xs, ys }: { readonly index: number; readonly xs: Scale; readonly ys: Scale },
): string {
  const at = points.map(([x, y]) => `${xs.at(x).toFixed(1)},${ys.at(y).toFixed(1)}`)
  const dots = at.map((point) => {
    const [x, y] = point.split(',')
    return `<circle cx="${x}" cy="${y}" r="3" class="d${index % 4}"/>`
  })
  return `<polyline points="${at.join(' ')}" class="line c${index % 4}" stroke-dasharray="${DASHES[index % 4]}"/>${dots.join('')}`
}

/** Two in a row, above the lines. */
function legendOf(lines: readonly Line[]): string {
  const entries = lines.map(({ name }, index) => {
    const x = LEFT + (index % 2) * 340
    const y = 60 + Math.floor(index / 2) * 18
    return `<line x1="${x}" x2="${x + 28}" y1="${y - 4}" y2="${y - 4}" class="line c${index % 4}" stroke-dasharray="${DASHES[index % 4]}"/><text x="${x + 34}" y="${y}">${escaped(name)}</text>`
  })
  return entries.join('\n  ')
}

function gridX(x: number, text: string): string {
  return `<line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" class="grid"/><text x="${x.toFixed(1)}" y="${HEIGHT - BOTTOM + 16}" text-anchor="middle">${text}</text>`
}

function gridY(y: number, text: string): string {
  return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}" class="grid"/><text x="${LEFT - 6}" y="${(y + 4).toFixed(1)}" text-anchor="end">${text}</text>`
}

function boundAt(y: number, name: string): string {
  return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}" class="bound"/><text x="${WIDTH - RIGHT - 4}" y="${(y - 5).toFixed(1)}" text-anchor="end">${escaped(name)}</text>`
}

/** A number in few characters: 10k, 1M. */
export function short(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))}k`
  return String(Number(value.toPrecision(3)))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
