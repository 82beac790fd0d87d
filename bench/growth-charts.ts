/**
 * What a run of growth found, as tables and charts.
 *
 * @module
 */

import type { Growth } from './growth.ts'
import { type LineChart, linesOf, short } from './lines.ts'
import { tableOf } from './markdown.ts'

interface Named {
  readonly variant: string
  readonly workload: string
}

/** The charts, by file name. */
export function growthCharts(growth: Growth, date: string): Readonly<Record<string, string>> {
  const day = date.slice(0, 10)
  const charts: Readonly<Record<string, LineChart>> = {
    'growth-records.svg': {
      title: 'Latency over the number of records, × an empty table',
      subtitle: `PostgreSQL, median of 8 connections, ${day}`,
      ...{ x: 'records in the table', y: 'latency, × empty' },
      lines: linesBy(growth.records, (one) => [one.records, one.latencyRatio]),
      bound: { at: 1.2, name: 'goal: at most 1.2' },
    },
    'growth-connections.svg': {
      title: 'Throughput over connections, × the bare handler',
      subtitle: `Fresh keys on Express, ${day}`,
      ...{ x: 'connections, each with one request under way', y: 'throughput, × bare' },
      lines: linesBy(growth.connections, (one) => [one.connections, one.ratio]),
      bound: { at: 1, name: 'no protection at all' },
    },
    'growth-body.svg': {
      title: 'Throughput over the size of bodies, × the bare handler with the same',
      subtitle: `Request and answer on Express, 8 connections, ${day}`,
      ...{ x: 'bytes of the body', y: 'throughput, × bare' },
      lines: linesBy(growth.bodies, (one) => [one.bodyBytes, one.ratio]),
      bound: { at: 1, name: 'no protection at all' },
    },
  }
  return Object.fromEntries(Object.entries(charts).map(([file, chart]) => [file, linesOf(chart)]))
}

/** The same as tables. */
export function growthTables({ records, connections, bodies }: Growth): string {
  return [
    tableOf(
      [
        'records',
        'keys',
        'variant',
        'latency × empty',
        'p50 ms (empty)',
        'p99 ms (empty)',
        'bytes',
      ],
      records.map((one) => [
        ...[short(one.records), one.workload, one.variant, one.latencyRatio.toFixed(2)],
        `${one.own.p50Ms.toFixed(2)} (${one.other.p50Ms.toFixed(2)})`,
        `${one.own.p99Ms.toFixed(1)} (${one.other.p99Ms.toFixed(1)})`,
        one.bytesPerRecord.toFixed(0),
      ]),
    ),
    tableOf(
      ['connections', 'variant', '× bare', 'range', 'req/s', 'p50 ms', 'p99 ms', 'failed'],
      connections.map((one) => [
        ...[String(one.connections), one.variant, one.ratio.toFixed(2)],
        `${one.ratios[0].toFixed(2)}–${one.ratios[1].toFixed(2)}`,
        ...[one.own.perSecond.toFixed(0), one.own.p50Ms.toFixed(1), one.own.p99Ms.toFixed(1)],
        String(one.failures),
      ]),
    ),
    tableOf(
      ['body bytes', 'keys', 'variant', '× bare', 'range', 'req/s', 'p50 ms (bare)', 'failed'],
      bodies.map((one) => [
        ...[short(one.bodyBytes), one.workload, one.variant, one.ratio.toFixed(2)],
        `${one.ratios[0].toFixed(2)}–${one.ratios[1].toFixed(2)}`,
        one.own.perSecond.toFixed(0),
        `${one.own.p50Ms.toFixed(1)} (${one.other.p50Ms.toFixed(1)})`,
        String(one.failures),
      ]),
    ),
  ].join('\n\n')
}

function linesBy<Point extends Named>(
  points: readonly Point[],
  at: (point: Point) => readonly [number, number],
): LineChart['lines'] {
  const names = [...new Set(points.map(nameOf))]
  return names.map((name) => ({
    name,
    points: points.filter((point) => nameOf(point) === name).map(at),
  }))
}

function nameOf({ variant, workload }: Named): string {
  return `${variant.replace('express/', '')}, ${workload}`
}
