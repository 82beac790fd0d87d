/**
 * The dashboard and the alerts: every metric that they name is one that we tell.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { createMetrics, hitRate, METRICS } from '../../src/telemetry/index.ts'
import { REQUEST, response } from '../engine/world.ts'
import { readYaml } from './plain-yaml.ts'
import { readPrometheus } from './prometheus-text.ts'

const root = join(import.meta.dirname, '../../docs')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}
interface Panel {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
  readonly targets: readonly { readonly expr: string; readonly refId: string }[]
}

// Their shapes are checked below.
const alerts = readYaml(read('monitoring/prometheus-alerts.yml')) as unknown as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
}
const dashboard: { readonly panels: readonly Panel[]; readonly uid: string } = JSON.parse(
  read('monitoring/grafana-dashboard.json'),
)
const rules = alerts.groups.flatMap((group) => group.rules)
const charts = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

/** Every series that a process tells, with the labels it has. */
async function told(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const store = memoryStore()
  const workers = async () => [{ worker: 'completer', agoMs: 1 }]
  const source = { ready: () => store.ready(), stats: () => store.stats(), work: { workers } }
  const metrics = createMetrics({ store: source })
  const reprise = createReprise({ store, onEvent: metrics.onEvent })
  await reprise.run(REQUEST, async () => response())
  await metrics.refresh()
  const series = new Map<string, Set<string>>()
  for (const { samples } of readPrometheus(metrics.text()).values()) {
    for (const { name, labels } of samples) {
      const known = series.get(name) ?? new Set()
      series.set(name, known)
      for (const label of Object.keys(labels)) known.add(label)
    }
  }
  return series
}

const NAME = /\bidempotency_\w+/g
const SELECTOR = /\b(idempotency_\w+)\{([^}]*)\}/g

describe.each([
  ['the dashboard', charts],
  ['the alerts', rules.map(({ expr }) => expr)],
])('%s', (_, expressions) => {
  it('names only series that are told, by labels that they have', async () => {
    const series = await told()
    expect(expressions.length).toBeGreaterThan(5)
    for (const expression of expressions) {
      const names = expression.match(NAME) ?? []
      expect(names, expression).not.toEqual([])
      for (const name of names) expect([...series.keys()], expression).toContain(name)
      for (const [, name = '', selector = ''] of expression.matchAll(SELECTOR)) {
        const [label = ''] = selector.split(/=~?/)
        expect([...(series.get(name) ?? [])], expression).toContain(label)
      }
      for (const [, label = ''] of expression.matchAll(/\bby \((\w+)\)/g)) {
        const labels = names.flatMap((name) => [...(series.get(name) ?? [])])
        expect(labels, expression).toContain(label)
      }
    }
  })

  it('has its brackets in pairs', () => {
    for (const expression of expressions) {
      const open: string[] = []
      for (const each of expression.replaceAll(/"[^"]*"/g, '')) {
        if ('([{'.includes(each)) open.push(each)
        if (')]}'.includes(each)) expect('([{'.indexOf(open.pop() ?? '?')).toBe(')]}'.indexOf(each))
      }
      expect(open, expression).toEqual([])
    }
  })
})

describe('the alerts', () => {
  it('are named once each, with a severity and what to know', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    for (const { alert, labels, annotations, for: duration = '1m' } of rules) {
      expect(alert).toMatch(/^Reprise[A-Z]\w+$/)
      expect(['info', 'warning', 'critical']).toContain(labels.severity)
      expect(annotations.summary.length).toBeGreaterThan(10)
      expect(annotations.description).toContain('$value')
      expect(duration).toMatch(/^\d+[smh]$/)
    }
  })

  it('cover what an operator must hear of', () => {
    const all = rules.map(({ expr }) => expr).join('\n')
    for (const part of [
      ...['status="suspended"', 'status="unknown"', 'idempotency_dead_letters_total'],
      ...['worker="completer"', 'idempotency_mismatch_total', 'idempotency_store_errors_total'],
    ]) {
      expect(all).toContain(part)
    }
  })

  it('begin where the band "investigate" begins, with as much data', () => {
    const { expr = '' } = rules.find(({ alert }) => alert === 'RepriseHitRateHigh') ?? {}
    const [, checkedMin, rate] = />= (\d+)\) > ([\d.]+)$/.exec(expr) ?? []
    const checked = Number(checkedMin)
    const edge = Math.round(Number(rate) * checked)

    expect(hitRate({ hit: edge, checked }).band).toBe('watch')
    expect(hitRate({ hit: edge + 1, checked }).band).toBe('investigate')
    expect(hitRate({ hit: edge + 1, checked: checked - 1 }).band).toBe('not_enough_data')
  })
})

describe('the dashboard', () => {
  it('shows every metric', () => {
    const all = charts.join('\n')
    for (const { prometheus } of METRICS) expect(all).toContain(prometheus)
  })

  it('has panels with a title and a description, none over another', () => {
    const taken = new Set<string>()
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    for (const { title, description, gridPos, targets } of dashboard.panels) {
      expect(title.length * description.length).toBeGreaterThan(0)
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length)
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken, title).not.toContain(`${x},${y}`)
          taken.add(`${x},${y}`)
        }
      }
    }
  })
})

describe('the guide', () => {
  it('says of every metric what it is', () => {
    const guide = read('guides/monitoring.md')
    for (const { name, prometheus } of METRICS) {
      expect(guide).toContain(`\`${name}\``)
      expect(guide).toContain(`\`${prometheus}\``)
    }
  })

  it('reads what is written in YAML, and nothing that is not', () => {
    expect(readYaml('a:\n  - b: c d\n    e: "x: y"\n  - b: >-\n      one\n      two\n')).toEqual({
      a: [{ b: 'c d', e: 'x: y' }, { b: 'one two' }],
    })
    for (const wrong of ['a: b: c', 'a:\n\tb: c', 'a: b\n  c: d', 'a:', 'a: b\na: c', 'a: [b]']) {
      expect(() => readYaml(wrong), wrong).toThrow(Error)
    }
  })
})
