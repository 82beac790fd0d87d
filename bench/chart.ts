/**
 * A chart of throughput beside the bare handler, as SVG that reads well on light and dark pages.
 *
 * @module
 */

import type { Results } from './results.ts'
import { isOwn } from './variants.ts'

const WIDTH = 760
const LABEL = 285
const ROW = 24
const TOP = 56

/** The chart of fresh keys, at the most connections that were measured; best first. */
export function chartOf({ comparisons, date }: Results): string {
  const most = Math.max(...comparisons.map(({ connections }) => connections))
  const bars = comparisons
    .filter(({ workload, connections }) => workload === 'fresh' && connections === most)
    .sort((a, b) => b.ratio - a.ratio)
  const scale = (WIDTH - LABEL - 70) / Math.max(1.1, ...bars.map(({ ratio }) => ratio))
  const height = TOP + bars.length * ROW + 30
  const limit = LABEL + scale
  const rows = bars.map(({ variant, ratio }, index) => {
    const y = TOP + index * ROW
    const width = Math.max(1, ratio * scale).toFixed(1)
    return `
  <text x="${LABEL - 8}" y="${y + 14}" text-anchor="end">${escaped(variant)}</text>
  <rect x="${LABEL}" y="${y + 2}" width="${width}" height="16" rx="2" class="${isOwn(variant) ? 'own' : 'peer'}"/>
  <text x="${(LABEL + ratio * scale + 6).toFixed(1)}" y="${y + 14}">${ratio.toFixed(2)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Throughput with fresh keys, as a share of the bare handler">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2937 }
    .own { fill: #2563eb } .peer { fill: #9ca3af } .limit { stroke: #b91c1c; stroke-dasharray: 4 3 }
    @media (prefers-color-scheme: dark) { text { fill: #e5e7eb } .own { fill: #60a5fa } .peer { fill: #6b7280 } }
  </style>
  <text x="8" y="20" font-weight="600">Throughput with fresh keys, × the bare handler of the same framework</text>
  <text x="8" y="40">${most} connections, ${escaped(date.slice(0, 10))}; blue: Reprise, grey: peers and by hand, line: no protection at all</text>
  <line x1="${limit.toFixed(1)}" x2="${limit.toFixed(1)}" y1="${TOP - 4}" y2="${height - 24}" class="limit"/>${rows.join('')}
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
