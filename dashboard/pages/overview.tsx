/**
 * The first page: what is going on, and what needs somebody.
 *
 * @module
 */

import { useState } from 'preact/hooks'
import type { Concern, CountPoint, Overview } from '../../src/admin/admin.ts'
import { noCounts } from '../../src/engine/counts.ts'
import { Breakdown } from '../parts/breakdown.tsx'
import { Chart, Sparkline } from '../parts/chart.tsx'
import { NeverAny } from '../parts/empty.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Time, tellNow } from '../parts/time.tsx'
import { Card, Heading, Loading, Problem, Tabs } from '../parts/ui.tsx'
import { WorkerStrip } from '../parts/worker-strip.tsx'
import { useResource } from '../resource.ts'
import { Link, withQuery } from '../router.tsx'
import { session } from '../session.ts'
import { count, percent, t } from '../strings.ts'
import { useTitle } from '../title.ts'

const WINDOWS: Readonly<Record<keyof typeof t.overview.windows, number>> = {
  ...{ '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 },
}
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WINDOW_DEFAULT = '1h'

function isWindow(name: string): name is keyof typeof WINDOWS {
  return Object.hasOwn(WINDOWS, name)
}

/** The first page. */
export function OverviewPage({ query }: { query: URLSearchParams }) {
  useTitle(t.pages.overview)
  const asked = query.get('window') ?? WINDOW_DEFAULT
  const window = isWindow(asked) ? asked : WINDOW_DEFAULT
  const windowMs = WINDOWS[window]
  const { data, error, reload } = useResource<Overview>(`overview?window=${windowMs}`)
  // Counts are kept by the hour: a shorter window has no course of its own.
  const trend = useResource<Overview>(windowMs < DAY_MS ? `overview?window=${DAY_MS}` : undefined)
  if (data !== undefined) tellNow(data.now)
  const course = windowMs < DAY_MS ? trend.data : data
  const series = course === undefined ? [] : everyHour(course)
  return (
    <>
      <div class="head">
        <Heading>{t.pages.overview}</Heading>
        <Tabs
          label={t.overview.window}
          tabs={(Object.keys(WINDOWS) as (keyof typeof WINDOWS)[]).map((name) => ({
            name: t.overview.windows[name],
            to: withQuery('', { window: name }),
            isHere: name === window,
          }))}
        />
      </div>
      {error !== undefined && <Problem error={error} onRetry={() => void reload()} />}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && <Content overview={data} series={series} />}
    </>
  )
}

/** The sums of every hour of the window: those in which nothing happened are not kept. */
function everyHour({ series, now, windowMs }: Overview): readonly CountPoint[] {
  if (series.length === 0) return []
  const byHour = new Map(series.map((point) => [Number(point.of), point]))
  const last = now - (now % HOUR_MS)
  const hours = Math.ceil(windowMs / HOUR_MS)
  return Array.from({ length: hours }, (_, index) => {
    const of = last - (hours - 1 - index) * HOUR_MS
    return byHour.get(of) ?? { of, counts: noCounts() }
  })
}

function Content({ overview, series }: { overview: Overview; series: readonly CountPoint[] }) {
  const { totals, hitRate, states } = overview
  const from = overview.now - overview.windowMs
  const isEmpty = totals.checked === 0 && Object.values(states).every((one) => one === 0)
  return (
    <>
      {hitRate.band === 'investigate' && <Investigate overview={overview} />}
      <Tiles overview={overview} series={series} />
      <p class="soft sum">
        {t.overview.sum(
          ...[totals.checked, totals.miss, totals.hit, totals.in_progress, totals.mismatch],
        )}
      </p>
      <p class="soft">
        {t.overview.since} <Time at={from - (from % HOUR_MS)} />.{' '}
        {series.length > 0 && t.overview.lines(series.length)}
      </p>
      {isEmpty && <NeverAny />}
      {!isEmpty && !overview.recorded.counts && !session.get().isScoped && <NotCounted />}
      <div class="pair">
        <Attention concerns={overview.concerns} now={overview.now} />
        <Card title={t.pages.workers}>
          <WorkerStrip workers={overview.workers} />
        </Card>
      </div>
      {series.length > 0 && <Traffic series={series} />}
      <div class="pair" id="breakdown">
        <Breakdown title={t.overview.byOperation} points={overview.byOperation} of="operation" />
        <Breakdown title={t.overview.byCaller} points={overview.byCaller} of="caller" />
      </div>
    </>
  )
}

/** Zeros mean nothing where nobody counts. */
function NotCounted() {
  return (
    <div class="notice" role="note">
      <p>
        <strong>{t.overview.notCounted}</strong> {t.overview.notCountedHint}{' '}
        <code>{t.overview.countedBy}</code> {t.overview.countedFrom}
      </p>
    </div>
  )
}

function Investigate({ overview }: { overview: Overview }) {
  return (
    <div class="notice warn" role="note">
      <p>
        <strong>
          <Icon name="warn" /> {t.overview.investigate}
        </strong>{' '}
        {t.overview.investigateText(percent(overview.hitRate.rate ?? 0))}{' '}
        <a href="#breakdown">{t.overview.seeWho}</a>
      </p>
    </div>
  )
}

const BAND_SIGNS: Readonly<Record<Overview['hitRate']['band'], IconName>> = {
  ...{ quiet: 'ring', healthy: 'check', watch: 'diamond', investigate: 'warn' },
  not_enough_data: 'question',
}

function Tiles({ overview, series }: { overview: Overview; series: readonly CountPoint[] }) {
  const { totals, hitRate } = overview
  const course = (value: (point: CountPoint['counts']) => number) =>
    series.map(({ counts }) => value(counts))
  const checkedOf = ({ miss, hit, in_progress, mismatch }: CountPoint['counts']) =>
    miss + hit + in_progress + mismatch
  const rateOf = (counts: CountPoint['counts']) => counts.hit / Math.max(1, checkedOf(counts))
  const tiles = [
    [t.overview.checked, count(totals.checked), 'requests', course(checkedOf)],
    [t.overview.hit, count(totals.hit), 'conflicts?result=replayed', course(({ hit }) => hit)],
    [t.overview.miss, count(totals.miss), 'requests', course(({ miss }) => miss)],
    [
      t.overview.prevented,
      count(totals.duplicatesPrevented),
      'requests?q=replays>0',
      course(({ hit, in_progress }) => hit + in_progress),
    ],
  ] as const
  return (
    <ul class="tiles">
      {tiles.map(([name, value, to, values]) => (
        <li class="card tile">
          <Link to={to}>
            <span class="name">{name}</span>
            <strong>{value}</strong>
          </Link>
          <Sparkline values={values} />
        </li>
      ))}
      <li class="card tile" data-band={hitRate.band} title={hitRate.meaning}>
        <Link to="conflicts">
          <span class="name">{t.overview.rate}</span>
          <strong>{hitRate.rate === null ? t.time.none : percent(hitRate.rate)}</strong>
        </Link>
        <span class="band">
          <Icon name={BAND_SIGNS[hitRate.band]} /> {hitRate.label}
          <span class="soft"> · {hitRate.range}</span>
        </span>
        <Sparkline values={course(rateOf)} />
      </li>
    </ul>
  )
}

const CONCERN_PAGES: Readonly<Record<Concern['kind'], string>> = {
  ...{ dead_letters: 'person', stuck: 'stuck', worker_silent: 'workers', backlog: 'jobs' },
  ...{ store_errors: 'workers', schema: 'workers', outcome_unknown: 'person' },
}

function Attention({ concerns, now }: { concerns: readonly Concern[]; now: number }) {
  return (
    <Card title={t.overview.attention}>
      {concerns.length === 0 ? (
        <p class="calm">
          <Icon name="check" /> {t.overview.nothing}
        </p>
      ) : (
        <ol class="concerns">
          {concerns.map(({ kind, text }) => (
            <li data-kind={kind}>
              <Icon name={kind === 'dead_letters' ? 'flag' : 'warn'} />
              <Link to={CONCERN_PAGES[kind]}>{text}</Link>
            </li>
          ))}
        </ol>
      )}
      <p class="soft">
        {t.overview.checkedAt}: <Time at={now} />
      </p>
    </Card>
  )
}

function Traffic({ series }: { series: readonly CountPoint[] }) {
  const [isTable, setTable] = useState(false)
  const times = series.map(({ of }) => Number(of))
  const of = (name: 'miss' | 'hit' | 'in_progress' | 'mismatch') =>
    series.map(({ counts }) => counts[name])
  const lines = [
    { name: t.overview.miss, values: of('miss'), color: '--plot-1', dash: [] },
    { name: t.overview.hit, values: of('hit'), color: '--plot-2', dash: [8, 4] },
    { name: t.overview.conflict, values: of('in_progress'), color: '--plot-3', dash: [2, 4] },
    { name: t.overview.mismatch, values: of('mismatch'), color: '--plot-4', dash: [10, 3, 2, 3] },
  ]
  const columns: readonly Column<number>[] = [
    [t.overview.hour, (place) => <Time at={times[place] ?? 0} />],
    ...lines.map(({ name, values }): Column<number> => {
      return [name, (place) => count(values[place] ?? 0)]
    }),
  ]
  return (
    <section class="card">
      <div class="head">
        <h2>{t.overview.traffic}</h2>
        <button
          type="button"
          class="small"
          aria-pressed={isTable}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? t.overview.chart : t.overview.table}
        </button>
      </div>
      {isTable ? (
        <Table label={t.overview.traffic} items={[...times.keys()]} columns={columns} />
      ) : (
        <>
          <Chart times={times} lines={lines} label={t.overview.traffic} />
          <ul class="legend">
            {lines.map(({ name, values }, index) => (
              <li data-line={index + 1}>
                <svg viewBox="0 0 28 6" aria-hidden="true" focusable="false">
                  <line x1="0" y1="3" x2="28" y2="3" />
                </svg>
                {name} <span class="soft">{count(values.at(-1) ?? 0)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}
