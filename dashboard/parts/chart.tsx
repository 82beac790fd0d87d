/**
 * Charts: a line for a tile, and bars by the hour, each with its numbers in a table.
 *
 * @module
 */

import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { prefs } from '../prefs.ts'
import { useStore } from '../store.ts'
import { hourOf } from './time.tsx'

const WIDTH = 120
const HEIGHT = 28

/** The course of one number. What it shows is in the table beside it. */
export function Sparkline({ values }: { values: readonly number[] }) {
  if (values.length < 2) return <div class="spark" />
  const most = Math.max(1, ...values)
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * WIDTH
    return `${x.toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`
  })
  const area = `0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`
  const frame = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' }
  return (
    <svg class="spark" {...frame} aria-hidden="true" focusable="false">
      <polygon points={area} />
      <polyline points={points.join(' ')} />
    </svg>
  )
}

/** One of the lines of a chart. */
export interface Line {
  readonly name: string
  readonly values: readonly number[]
  /** Of the tokens of the style. */
  readonly color: string
  /** Lengths of strokes and gaps, so that colour is not all that tells lines apart. */
  readonly dash: number[]
}

const CHART_HEIGHT = 200
/** Steps of the scale: there is no half a request. */
const WHOLE = [1, 2, 5]
  .flatMap((step) => Array.from({ length: 9 }, (_, power) => step * 10 ** power))
  .sort((one, other) => one - other)

/** Lines over time. */
export function Chart({
  times,
  lines,
  label,
}: {
  times: readonly number[]
  lines: readonly Line[]
  label: string
}) {
  const element = useRef<HTMLDivElement>(null)
  const { time, theme } = useStore(prefs)
  useEffect(() => {
    const holder = element.current
    if (holder === null) return
    const draw = () => plot({ holder, times, lines, hour: (at) => hourOf(at, time) })
    let chart = draw()
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => {
      chart.destroy()
      chart = draw()
    }
    const observer = new ResizeObserver(() =>
      chart.setSize({ width: holder.clientWidth, height: CHART_HEIGHT }),
    )
    observer.observe(holder)
    scheme.addEventListener('change', redraw)
    return () => {
      observer.disconnect()
      scheme.removeEventListener('change', redraw)
      chart.destroy()
    }
  }, [JSON.stringify([times, lines]), time, theme])
  return <div class="chart" ref={element} role="img" aria-label={label} />
}

interface Plot {
  readonly holder: HTMLElement
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  hour(at: number): string
}

function plot({ holder, times, lines, hour }: Plot): uPlot {
  const style = getComputedStyle(holder)
  // Tokens name two colours; what is computed of an element is one.
  const colorOf = (token: string) => {
    const probe = document.createElement('i')
    probe.style.color = `var(${token})`
    holder.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
  const axis = {
    ...{ stroke: colorOf('--soft'), font: `12px ${style.fontFamily}` },
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { stroke: colorOf('--line'), width: 1 },
  }
  const hours = (_: uPlot, values: number[]) => values.map((at) => hour(at * 1000))
  const options: uPlot.Options = {
    ...{ width: holder.clientWidth, height: CHART_HEIGHT, legend: { show: false } },
    cursor: { drag: { x: false, y: false } },
    series: [
      {},
      ...lines.map(({ name, color, dash }) => ({
        ...{ label: name, stroke: colorOf(color), width: 2, dash },
        points: { show: times.length < 40, size: 5 },
      })),
    ],
    axes: [
      { ...axis, values: hours },
      { ...axis, size: 56, incrs: WHOLE },
    ],
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most) * 1.1] } },
  }
  const data: uPlot.AlignedData = [
    times.map((at) => at / 1000),
    ...lines.map(({ values }) => [...values]),
  ]
  return new uPlot(options, data, holder)
}
