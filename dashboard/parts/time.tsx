/**
 * Instants and spans of time, as the person has chosen to see them.
 *
 * @module
 */

import { live } from '../live.ts'
import { prefs, type TimeMode } from '../prefs.ts'
import { useStore } from '../store.ts'
import { t } from '../strings.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

let skew = 0
live.watch(({ pulse }) => {
  if (pulse !== undefined) skew = pulse.now - Date.now()
})

/** Now, by the store's clock as far as it is known. */
function now(): number {
  return Date.now() + skew
}

/** Tells the store's clock, for pages that know it before the first pulse. */
export function tellNow(instant: number): void {
  skew = instant - Date.now()
}

/** A span in words, short. */
export function span(ms: number): string {
  const size = Math.abs(ms)
  if (size < SECOND) return `${Math.round(size)} ms`
  if (size < MINUTE) return `${trim(size / SECOND)} s`
  if (size < HOUR) return `${Math.round(size / MINUTE)} min`
  if (size < 2 * DAY) return `${Math.round(size / HOUR)} h`
  return `${Math.round(size / DAY)} d`
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace('.0', '') : String(Math.round(value))
}

/** In UTC, to the second. */
function utc(instant: number): string {
  return `${new Date(instant).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })

/** An instant, in the way that was chosen. */
function format(instant: number, mode: TimeMode): string {
  if (mode === 'utc') return utc(instant)
  if (mode === 'local') return clock.format(instant)
  const ms = now() - instant
  if (Math.abs(ms) < SECOND) return t.time.now
  return ms > 0 ? t.time.ago(span(ms)) : t.time.in(span(ms))
}

/** The hour of the day, for charts. */
export function hourOf(instant: number, mode: TimeMode): string {
  const options: Intl.DateTimeFormatOptions = {
    ...{ hour: '2-digit', minute: '2-digit', hour12: false },
    ...(mode === 'utc' ? { timeZone: 'UTC' } : {}),
  }
  return new Intl.DateTimeFormat('en-GB', options).format(instant)
}

/** An instant; hover or focus tells the whole of it in UTC. */
export function Time({ at }: { at: number | null }) {
  const { time } = useStore(prefs)
  useStore(live)
  if (at === null) return <span>{t.time.none}</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={utc(at)}>
      {format(at, time)}
    </time>
  )
}
