/**
 * Plays a case: opens the doors, sends the requests until each has an answer for good, waits until
 * nothing goes on, and asks the judge.
 *
 * @module
 */

import { setTimeout as delay } from 'node:timers/promises'
import { type Door, openDoor, type Told, UNANSWERED } from './doors.ts'
import { type Evidence, isDefinite, judge } from './judge.ts'
import { type Case, caseOf, printCase, smallerCases } from './program.ts'
import { Play, type Shared } from './run.ts'
import type { World, WorldSource } from './world.ts'

/** How often and how long a client asks before its key counts as stuck, and the pause in between. */
const ASKS_MAX = 300
const ASKS_MS_MAX = 30_000
const PAUSE_MS = 3
/** How long one request may be without an answer, in milliseconds: longer than a busy machine needs. */
const SEND_MS = 30_000
/** How long handlers may go on after the last answer, in milliseconds. */
const QUIET_MS = 4000
/** How long a connection may take to come back from its transaction, in milliseconds. */
const CLEAN_MS = 3000
/** How long an app in which something went wrong may take to close, in milliseconds. */
const CLOSE_MS = 5000
/** How long a case may take, in milliseconds: more than all of the bounds above together. */
const CASE_MS = 180_000

/** A case that went wrong. */
export interface Violation {
  readonly play: Case
  readonly found: readonly string[]
}

/** An app in use: one case at a time. */
interface Place {
  readonly name: string
  readonly shared: Shared & { readonly world: World }
  readonly doors: Map<string, Promise<Door>>
  readonly plays: Map<string, Play>
  /** There while a case is played in it. */
  taken: Promise<void> | undefined
}

/** How far a case has come. */
interface Progress {
  /** What is being done. */
  step: string
  requests: readonly Play[]
}

let cases = 0

/** Plays cases on worlds of one client library or ORM, which are made when they are needed. */
export class Theatre {
  readonly source: WorldSource
  readonly #places = new Map<string, Promise<Place>>()
  /** Where something went wrong. */
  readonly #left = new Set<Place>()
  readonly #faults: string[] = []
  readonly #onRejection = (error: unknown) => {
    this.#faults.push(`a promise was rejected and nobody listened: ${String(error)}`)
  }
  readonly #onException = (error: unknown) => {
    this.#faults.push(`the process would have died: ${String(error)}`)
  }

  /** How many apps there are of each kind. */
  readonly #apps: number
  readonly #caseMs: number
  #turn = 0

  /**
   * @param apps - how many apps of each kind there are, so that so many cases can be played at once
   * @param caseMs - how long a case may take, in milliseconds
   */
  constructor(source: WorldSource, apps = 1, caseMs = CASE_MS) {
    this.source = source
    this.#apps = apps
    this.#caseMs = caseMs
    process.on('unhandledRejection', this.#onRejection)
    process.on('uncaughtException', this.#onException)
  }

  /** The case of a seed. */
  caseOf(seed: number): Case {
    return caseOf(seed, this.source.abilities)
  }

  /** Plays a case; `undefined` when all is well. */
  async play(one: Case): Promise<Violation | undefined> {
    const { place, leave } = await this.#enter(one)
    const progress: Progress = { step: 'open the door', requests: [] }
    try {
      const found = await withinBound(this.#play(one, place, progress), progress, this.#caseMs)
      if (found.length === 0) return undefined
      // Connections may be lost and keys held in there: the next case begins in a fresh one.
      this.#places.delete(place.name)
      this.#left.add(place)
      return { play: one, found }
    } finally {
      leave()
    }
  }

  /** Makes a case that goes wrong smaller, for as long as it still goes wrong in one of `tries`. */
  async shrink(violation: Violation, { tries = 5, ms = 60_000 } = {}): Promise<Violation> {
    const until = performance.now() + ms
    let smallest = violation
    for (let isSmaller = true; isSmaller; ) {
      isSmaller = false
      for (const smaller of smallerCases(smallest.play)) {
        if (performance.now() > until) return smallest
        const again = await this.playOften(smaller, tries)
        if (again === undefined) continue
        smallest = again
        isSmaller = true
        break
      }
    }
    return smallest
  }

  /** Plays a case until it goes wrong, at most `tries` times. */
  async playOften(one: Case, tries: number): Promise<Violation | undefined> {
    for (let left = tries; left > 0; left--) {
      const violation = await this.play(one)
      if (violation !== undefined) return violation
    }
    return undefined
  }

  async close(): Promise<void> {
    const places = [...(await Promise.all(this.#places.values())), ...this.#left]
    await Promise.all(places.map((place) => Promise.race([closePlace(place), delay(CLOSE_MS)])))
    await Promise.race([this.source.close(), delay(CLOSE_MS)])
    process.off('unhandledRejection', this.#onRejection)
    process.off('uncaughtException', this.#onException)
  }

  /** Takes an app in which nothing else is played. */
  async #enter(one: Case): Promise<{ readonly place: Place; leave(): void }> {
    const name = `${one.pool} ${one.latencyMs} ${this.#turn++ % this.#apps}`
    for (;;) {
      const place = await this.#place(name, one)
      await place.taken
      if (place.taken !== undefined || this.#left.has(place)) continue
      let open = () => {}
      place.taken = new Promise((resolve) => {
        open = resolve
      })
      const leave = () => {
        place.taken = undefined
        open()
      }
      return { place, leave }
    }
  }

  #place(name: string, { pool, latencyMs }: Case): Promise<Place> {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const made = this.source.make({ pool, latencyMs }).then((world) => placeOf(name, world))
    this.#places.set(name, made)
    return made
  }

  async #play(one: Case, place: Place, progress: Progress): Promise<readonly string[]> {
    const { shared, plays } = place
    const id = ++cases
    const requests = one.programs.map((program, index) => {
      const play = new Play(`case-${id}-${index + 1}`, program, shared)
      plays.set(play.key, play)
      return play
    })
    progress.requests = requests
    const door = await doorOf(place, one)
    progress.step = 'ask until there is an answer'
    const evidence = await Promise.all(requests.map((play) => ask(door, play)))
    shared.kept = undefined
    const keys = requests.flatMap(({ key, innerKey }) => [key, innerKey])
    progress.step = 'read the rows'
    const committed = await shared.world.committed(keys)
    progress.step = 'look for open transactions'
    const open = await openAfter(shared.world, CLEAN_MS)
    for (const key of keys) plays.delete(key)
    return [
      ...judge(one, evidence, committed),
      ...(open > 0 ? [`${open} connections are left inside a transaction`] : []),
      ...this.#faults.splice(0),
    ]
  }
}

/** What was found; that the case does not end, and what is pending, if it takes longer than it may. */
async function withinBound(
  playing: Promise<readonly string[]>,
  progress: Progress,
  ms: number,
): Promise<readonly string[]> {
  const stop = new AbortController()
  const late = delay(ms, undefined, { signal: stop.signal }).then(
    () => [
      `the case did not end within ${ms} ms: it was to ${progress.step}`,
      ...progress.requests.flatMap(({ key, pending }) => pending.map((text) => `${key}: ${text}`)),
    ],
    () => [],
  )
  return Promise.race([playing, late]).finally(() => stop.abort())
}

async function closePlace({ doors, shared }: Place): Promise<void> {
  for (const door of doors.values()) await (await door).close()
  await shared.world.close()
}

function placeOf(name: string, world: World): Place {
  const shared = { world, kept: undefined }
  return { name, shared, doors: new Map(), plays: new Map(), taken: undefined }
}

function doorOf({ doors, shared, plays }: Place, { adapter, mode }: Case): Promise<Door> {
  const name = `${adapter} ${mode}`
  const known = doors.get(name)
  if (known !== undefined) return known
  const made = openDoor({ adapter, mode }, shared, (key) => {
    const play = plays.get(key)
    if (play === undefined) throw new Error(`Nobody knows the key ${key}.`)
    return play
  })
  doors.set(name, made)
  return made
}

/** Asks until there is an answer for good and nothing goes on any more, and then once more. */
async function ask(door: Door, play: Play): Promise<Evidence> {
  const { copies, patienceMs } = play.program
  const told = await Promise.all(Array.from({ length: copies }, () => send(door, play, patienceMs)))
  const definite = told.find(isDefinite) ?? (await insist(door, play, told))
  const pending = await play.quiet(QUIET_MS)
  const again = definite === undefined ? undefined : await insist(door, play, told)
  return { play, told, definite, again, pending }
}

/** Sends a request, and does not wait for an answer for ever. */
async function send(door: Door, play: Play, patienceMs: number | null): Promise<Told> {
  const stop = new AbortController()
  const late = delay(SEND_MS, UNANSWERED, { signal: stop.signal }).catch(() => UNANSWERED)
  return Promise.race([door.send(play, patienceMs), late]).finally(() => stop.abort())
}

/** Sends a request again until it has an answer for good, and notes everything that it is told. */
async function insist(door: Door, play: Play, told: Told[]): Promise<Told | undefined> {
  const until = performance.now() + ASKS_MS_MAX
  for (let asks = 0; asks < ASKS_MAX && performance.now() < until; asks++) {
    const answer = await send(door, play, null)
    told.push(answer)
    if (isDefinite(answer)) return answer
    await delay(PAUSE_MS)
  }
  return undefined
}

/** How many transactions are still open after at most `ms` milliseconds. */
async function openAfter(world: World, ms: number): Promise<number> {
  const until = performance.now() + ms
  for (;;) {
    const open = await world.openTransactions()
    if (open === 0 || performance.now() > until) return open
    await delay(PAUSE_MS)
  }
}

/** How many programs were played, and what went wrong. */
export interface Report {
  readonly programs: number
  readonly cases: number
  readonly violations: readonly Violation[]
}

/** A case that was played, and how many programs there were until then. */
export interface Played {
  readonly programs: number
  readonly seed: number
  readonly violation: Violation | undefined
}

/** What to play. */
export interface Season {
  /** The first seed; the next cases are of the next ones. */
  readonly seed: number
  readonly programs: number
  /** How many cases are played at once. */
  readonly lanes?: number
  /** After so many violations no further case is begun. */
  readonly violationsMax?: number
  /** Told after each case. */
  readonly onCase?: (played: Played) => void
}

/** Plays cases until there were enough programs, or something went wrong. */
export async function playSeason(theatre: Theatre, season: Season): Promise<Report> {
  const { lanes = 4, violationsMax = 1, onCase } = season
  const violations: Violation[] = []
  let [seed, programs, count] = [season.seed, 0, 0]
  const lane = async () => {
    while (programs < season.programs && violations.length < violationsMax) {
      const one = theatre.caseOf(seed++)
      programs += one.programs.length
      count++
      const violation = await theatre.play(one)
      if (violation !== undefined) violations.push(violation)
      onCase?.({ programs, seed: one.seed, violation })
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return { programs, cases: count, violations }
}

/** A violation in words. */
export function printViolation({ play, found }: Violation): string {
  return [printCase(play), ...found.map((text) => `  ✗ ${text}`)].join('\n')
}
