/** Faults under load on real servers, and the count of what came of it. */

import { query } from '../../scripts/servers/postgres.ts'
import { countLeft, shiftInstants } from './deploys.ts'
import { bundleNode, Slot } from './fleet.ts'
import { countHostile, HOSTILE_TABLE } from './hostile.ts'
import { Load } from './load.ts'
import type { Mode } from './node.ts'
import { type Provider, startProvider } from './provider.ts'
import { type OwnServer, startOwnPostgres, startOwnRedis } from './servers.ts'
import { layWire } from './wire.ts'

/** How many faults of each kind. */
export interface Faults {
  /** Nodes that are killed with SIGKILL. */
  readonly kills: number
  /** Nodes that are frozen for twice their lease. */
  readonly zombies: number
  /** Restarts of the store as after a crash. */
  readonly restarts: number
  /** Times that every connection to the stores is cut. */
  readonly cuts: number
  /** Times that the store has no connection left for anybody. */
  readonly shortages: number
  /** Times that the store's disk is full; takes the right to mount one. */
  readonly fulls: number
  /** Times that the clock of the store is set, both ways; only in the mode `deploys`. */
  readonly steps: number
}

/** What came of it. */
export interface Report extends Faults {
  readonly mode: Mode
  readonly requests: number
  /** Requests whose outcome nobody knows; only under a lease. */
  readonly unknown: number
  /** Answers that said that they could not be kept; only under a lease. */
  readonly marked: number
  /** Requests that took effect twice. */
  readonly duplicates: number
  /** Requests that were answered and took no effect, or not the one that was answered. */
  readonly lost: number
  /** Requests without an answer, and records that nobody finished. */
  readonly stuck: number
  /** Requests that got another answer later. */
  readonly changed: number
  readonly seconds: number
}

const LEASE_MS = 1000
const SLOTS = 3
/** Answers between two faults. */
const PROGRESS = 4

/** How many clients there are at a time. */
const LANES = 12
/** So many that what each node asks of PostgreSQL goes together. */
const LANES_MANY = 60

/** Modes in which a run that was killed may have taken effect, so that nobody can say. */
const LEASED: ReadonlySet<Mode> = new Set(['lease', 'redis'])

/** Those, and the one with a call that is never repeated. */
const UNKNOWN: ReadonlySet<Mode> = new Set([...LEASED, 'deploys'])

const VERSIONS: readonly (1 | 2 | undefined)[] = [1, 2]

/** How far the clock of the store is set, in milliseconds. */
const STEPS_MS = [50, -50, 1000, -1000, 3000] as const

/**
 * Starts servers and nodes, does harm under load, and counts.
 *
 * @param minutes - no new fault after this time; the report says how many there were
 */
export async function runReality(mode: Mode, wanted: Faults, minutes: number): Promise<Report> {
  const began = performance.now()
  const isSmall = wanted.fulls > 0
  const postgres = await startOwnPostgres(isSmall && mode !== 'redis')
  const redis = mode === 'redis' ? await startOwnRedis(isSmall) : undefined
  const store = redis ?? postgres
  const wires = [await layWire(postgres.port), await layWire(redis?.port ?? postgres.port)] as const
  const [{ script, remove }, provider] = await Promise.all([
    bundleNode(entryOf(mode)),
    startProvider(),
  ])
  await query(postgres.url, isHostile(mode) ? HOSTILE_TABLE : TABLE)
  await query(postgres.url, 'create table charges (key text)')
  const task = {
    ...{ mode, leaseMs: LEASE_MS, provider: provider.port },
    url: `postgres://postgres@127.0.0.1:${wires[0].port}/postgres`,
    redisUrl: `redis://127.0.0.1:${wires[1].port}`,
  }
  const slots = Array.from({ length: SLOTS }, (_, at) => {
    // A deploy that never ends: one of each version stays.
    return new Slot(script, task, mode === 'deploys' ? VERSIONS[at] : undefined)
  })
  try {
    await Promise.all(slots.map((slot) => slot.boot()))
    const lanes = mode === 'lease' ? LANES_MANY : LANES
    const load = new Load(slots, {
      ...{ lanes, takesUnknown: UNKNOWN.has(mode), wantsStored: isHostile(mode) },
    })
    load.begin()
    const faults = await reign(wanted, load, {
      ...{ slots, until: began + minutes * 60_000 },
      ...{ store, url: postgres.url },
      cut: () => {
        for (const wire of wires) wire.cut()
      },
    })
    await load.end()
    const counted = await count(mode, load, { url: postgres.url, provider })
    const seconds = Math.round((performance.now() - began) / 1000)
    return { mode, requests: load.keys.length, ...faults, ...counted, seconds }
  } finally {
    await Promise.all(slots.map((slot) => slot.end()))
    for (const wire of wires) wire.close()
    provider.close()
    await Promise.all([postgres.stop(), redis?.stop(), remove()])
  }
}

const TABLE = 'create table effects (key text, token text)'

function isHostile(mode: Mode): boolean {
  return mode.startsWith('hostile')
}

/** The node of an ORM lies where the ORMs are installed. */
function entryOf(mode: Mode): string {
  return mode.startsWith('hostile-') ? '../orms/reality-node.ts' : 'node.ts'
}

interface Victims {
  /** No new harm after this, by the process's clock. */
  readonly until: number
  readonly slots: readonly Slot[]
  readonly store: OwnServer
  /** Of PostgreSQL. */
  readonly url: string
  cut(): void
}

/** How long the store has no room for anybody, in milliseconds. */
const SHORTAGE_MS = 1500

const STORE_FAULTS: ReadonlySet<keyof Faults> = new Set(['restarts', 'shortages', 'fulls', 'steps'])

/** Does all the harm, in random order, never without answers in between; gives what was done. */
async function reign(faults: Faults, load: Load, victims: Victims): Promise<Faults> {
  const { slots, until, store, cut, url } = victims
  const done = { kills: 0, zombies: 0, restarts: 0, cuts: 0, shortages: 0, fulls: 0, steps: 0 }
  const busy = new Map<Slot, Promise<void>>()
  const harms: Readonly<Record<keyof Faults, (slot: Slot) => Promise<void>>> = {
    kills: (slot) => slot.replace(),
    zombies: (slot) => slot.freeze(2 * LEASE_MS),
    restarts: () => store.restart(),
    cuts: async () => cut(),
    shortages: async () => {
      const full = store.crowd(SHORTAGE_MS)
      cut()
      await full
    },
    fulls: () => store.fill(SHORTAGE_MS),
    steps: async () => {
      const ms = STEPS_MS[Math.floor(Math.random() * STEPS_MS.length)] ?? 50
      // One that meets other transactions is undone as a whole, and does not count.
      await shiftInstants(url, ms).catch(() => done.steps--)
    },
  }
  for (const fault of shuffled(faults)) {
    await load.progress(PROGRESS)
    const slot = slots[Math.floor(Math.random() * slots.length)]
    if (slot === undefined || performance.now() > until) break
    await busy.get(slot)
    done[fault]++
    progress(done, load)
    const harm = harms[fault](slot)
    busy.set(slot, harm)
    // Nodes are harmed side by side; the store one time after the other.
    if (STORE_FAULTS.has(fault)) await harm
  }
  await Promise.all(busy.values())
  return done
}

function shuffled(faults: Faults): readonly (keyof Faults)[] {
  const all = Object.entries(faults).flatMap(([fault, times]) => {
    // The names are those of the type.
    return Array.from({ length: times }, () => [Math.random(), fault as keyof Faults] as const)
  })
  return all.sort(([a], [b]) => a - b).map(([, fault]) => fault)
}

let toldAt = 0

/** Says how far it got, twice a minute, beside the table. */
function progress(done: Faults, load: Load): void {
  if (performance.now() - toldAt < 30_000) return
  toldAt = performance.now()
  const counts = Object.entries(done).map(([fault, times]) => `${times} ${fault}`)
  console.error(`${load.answers.size} answers, ${counts.join(', ')}`)
}

type Counted = Pick<Report, 'unknown' | 'marked' | 'duplicates' | 'lost' | 'stuck' | 'changed'>

async function count(
  mode: Mode,
  load: Load,
  { url, provider }: { readonly url: string; readonly provider: Provider },
): Promise<Counted> {
  const { changed, marked } = await load.countChanged()
  const unanswered = load.keys.length - load.answers.size
  if (isHostile(mode)) {
    const stuck = unanswered + (await unfinished(url))
    return { unknown: 0, marked, changed, stuck, ...(await countHostile(load, url)) }
  }
  const { rows: effects } = await query(url, 'select key, token from effects')
  const tokens = new Map<string, string[]>()
  for (const { key, token } of effects) tokens.set(key, [...(tokens.get(key) ?? []), token])
  const { rows: charged } = await query(url, 'select key from charges')
  const charges = tally(charged.map(({ key }) => String(key)))
  const [ledger, notices] = [provider.charges(), provider.notices()]
  let [duplicates, lost, unknown] = [0, 0, 0]
  for (const key of load.keys) {
    const found = tokens.get(key) ?? []
    const told = mode === 'deploys' ? [notices.get(key) ?? 0] : []
    const times = [found.length, charges.get(key) ?? 0, ledger.get(key) ?? 0, ...told]
    if (times.some((one) => one > 1)) duplicates++
    const answer = load.answers.get(key)
    if (answer?.outcome === 'unknown') unknown++
    else if (answer !== undefined) {
      const isThere = found.includes(answer.body ?? '')
      if (!isThere || ((mode === 'phases' || mode === 'deploys') && times.includes(0))) lost++
    }
  }
  const left = mode === 'deploys' ? countLeft : unfinished
  const stuck = unanswered + (LEASED.has(mode) ? 0 : await left(url))
  return { unknown, marked, duplicates, lost, stuck, changed }
}

function tally(keys: readonly string[]): ReadonlyMap<string, number> {
  const counted = new Map<string, number>()
  for (const key of keys) counted.set(key, (counted.get(key) ?? 0) + 1)
  return counted
}

async function unfinished(url: string): Promise<number> {
  const { rows } = await query(
    url,
    `select (select count(*) from reprise.records where status is null)::integer
          + (select count(*) from reprise.dead_letters)::integer as left`,
  )
  return Number(rows[0]?.left)
}
