/**
 * Whether and how the page hears of changes: told by the server, asking again and again, or not at
 * all.
 *
 * @module
 */

import type { Pulse } from '../src/dashboard/reads.ts'
import { announce } from './announce.ts'
import { ApiError, read } from './api.ts'
import { Leadership, type Told } from './leadership.ts'
import { prefs, type Refresh } from './prefs.ts'
import { urlOf } from './router.tsx'
import { createStore, type Store } from './store.ts'
import { t } from './strings.ts'

/** How the page hears of changes. */
export type Connection = 'connecting' | 'live' | 'polling' | 'stale' | 'down' | 'paused'

/** What is known about now. */
export interface Live {
  readonly connection: Connection
  /** Since when nothing was heard, in milliseconds since 1970 by this machine. */
  readonly since: number
  readonly problem: string
  readonly pulse: Pulse | undefined
  /** Counts up whenever what is shown should be read again. */
  readonly tick: number
  /** How many more requests there are than when updates were held back. */
  readonly held: number
  readonly isHeld: boolean
}

export const live: Store<Live> = createStore<Live>({
  ...{ connection: 'connecting', since: Date.now(), problem: '', pulse: undefined, tick: 0 },
  ...{ held: 0, isHeld: false },
})

/** Streams that break this often in a row are given up for asking. */
const FAILURES_MAX = 3
const POLL_MS = 5000

const reasons = new Set<string>()
let before: Pulse | undefined
let failures = 0
let source: EventSource | undefined
let timer: ReturnType<typeof setInterval> | undefined
let leadership: Leadership | undefined

/** Holds updates back, for as long as any reason to do so lasts. */
export function hold(reason: string, isOn: boolean): void {
  const wasHeld = reasons.size > 0
  if (isOn) reasons.add(reason)
  else reasons.delete(reason)
  const isHeld = reasons.size > 0
  if (isHeld === wasHeld) return
  if (isHeld) before = live.get().pulse
  const { tick } = live.get()
  live.update({ isHeld, held: 0, tick: isHeld || isPaused() ? tick : tick + 1 })
}

function isPaused(): boolean {
  return prefs.get().refresh === 'paused'
}

function totalOf(pulse: Pulse | undefined): number {
  return pulse === undefined ? 0 : Object.values(pulse.states).reduce((sum, one) => sum + one, 0)
}

function take(told: Told): void {
  if (isPaused()) return
  const now = Date.now()
  if ('problem' in told) {
    live.update({ connection: 'down', problem: told.problem, since: live.get().since })
    return
  }
  const { pulse } = told
  const last = live.get()
  announceChange(last.pulse, pulse)
  live.update({
    ...{ pulse, since: now, problem: '', connection: told.isPolled ? 'polling' : 'live' },
    tick: last.isHeld ? last.tick : last.tick + 1,
    held: last.isHeld ? Math.max(0, totalOf(pulse) - totalOf(before)) : 0,
  })
}

/** Only what needs somebody is said, and not often. */
function announceChange(old: Pulse | undefined, pulse: Pulse): void {
  if (old === undefined) return
  const stuck = pulse.states.stuck - old.states.stuck
  const person = pulse.states.needs_person - old.states.needs_person
  if (stuck > 0) announce(t.live.newStuck(stuck), 'slow')
  if (person > 0) announce(t.live.newPerson(person), 'slow')
}

function stop(): void {
  source?.close()
  source = undefined
  clearInterval(timer)
  timer = undefined
  leadership?.end()
  leadership = undefined
}

async function poll(): Promise<void> {
  try {
    const pulse = await read<Pulse>('pulse')
    tellAll({ pulse, isPolled: true })
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) tellAll({ problem: error.message })
    else if (live.get().connection !== 'stale') live.update({ connection: 'stale' })
  }
}

function tellAll(told: Told): void {
  leadership?.tell(told)
  take(told)
}

function every(ms: number): void {
  void poll()
  timer = setInterval(() => void poll(), ms)
}

function stream(): void {
  source = new EventSource(urlOf('api/events'))
  source.addEventListener('pulse', (event) => {
    failures = 0
    tellAll({ pulse: JSON.parse(event.data), isPolled: false })
  })
  source.addEventListener('trouble', (event) => {
    tellAll({ problem: JSON.parse(event.data).message })
  })
  source.addEventListener('error', () => {
    failures += 1
    if (failures < FAILURES_MAX) {
      if (live.get().connection === 'live') live.update({ connection: 'stale' })
      // A browser gives up by itself on an answer that is no stream.
      if (source?.readyState === EventSource.CLOSED) setTimeout(again, 1000)
      return
    }
    source?.close()
    source = undefined
    every(POLL_MS)
  })
}

function again(): void {
  if (source?.readyState === EventSource.CLOSED) stream()
}

function start(refresh: Refresh): void {
  stop()
  if (refresh === 'paused') {
    live.update({ connection: 'paused' })
    return
  }
  if (document.hidden) return
  if (refresh !== 'live') {
    every(Number(refresh) * 1000)
    return
  }
  leadership = new Leadership({
    lead: () => (failures < FAILURES_MAX ? stream() : every(POLL_MS)),
    follow: () => {
      source?.close()
      source = undefined
      clearInterval(timer)
    },
    told: take,
  })
}

/** Begins, and begins anew whenever the choice or the visibility changes. */
export function beginLive(): void {
  let refresh = prefs.get().refresh
  start(refresh)
  prefs.watch((value) => {
    if (value.refresh === refresh) return
    refresh = value.refresh
    failures = 0
    start(refresh)
  })
  document.addEventListener('visibilitychange', () => {
    hold('hidden', document.hidden)
    if (document.hidden) stop()
    else start(prefs.get().refresh)
  })
  addEventListener('pagehide', stop)
}
