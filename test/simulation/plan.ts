/**
 * The shape of an operation, and how deploys change it. A site is what the app means by a phase or a call;
 * each version of the operation has its sites in an order of its own, under names of its own.
 *
 * @module
 */

import type { Chance } from '../engine/chance.ts'
import type { Feature } from './features.ts'

/** How a provider answers when it is asked what became of a call. */
export type Manner = 'honest' | 'voids' | 'silent' | 'garbage' | 'throws' | 'hangs'

/** A phase or a call. */
export interface Site {
  readonly id: string
  /** A call, or `undefined` for a phase. */
  readonly call: CallManner | undefined
  /** Only requests of this branch come here; all unless given. */
  readonly branch: 0 | 1 | undefined
  /** How long it may take, in milliseconds. */
  readonly timeoutMs: number | undefined
}

/** How a call is made, and what its provider is like. */
export interface CallManner {
  readonly repeat: 'never' | 'with-key' | 'always'
  /** Whether the provider does nothing twice under one key. */
  readonly honoursKeys: boolean
  /** How the provider answers `reconcile`; without one where it is empty. */
  readonly manners: readonly Manner[]
  /** What the operation does when the call was declined. */
  readonly declined: 'nothing' | 'answers' | 'goes on'
}

/** One version of the operation. */
export interface Version {
  /** What it says as `version`. */
  readonly number: number
  /** The first is at `started`; the last answers. */
  readonly order: readonly Site[]
  /** Recovery points, by the id of the site. */
  readonly names: ReadonlyMap<string, string>
  readonly migrates: boolean
  /** Whether it refuses the body that the first version takes. */
  readonly isStrict: boolean
  /** What the deploy of it changes. */
  readonly changes: readonly string[]
}

/** An operation and its versions, the oldest first. */
export interface Plan {
  readonly features: ReadonlySet<Feature>
  readonly versions: readonly Version[]
  /** How long the operation keeps its records, in milliseconds. */
  readonly retentionMs: number
}

/** What a seed makes of its features. */
export function planOf(chance: Chance, features: ReadonlySet<Feature>, retentionMs: number): Plan {
  const versions = [firstVersion(chance, features)]
  for (let more = chance.pick(1, 1, 2); more > 0; more--) {
    const last = versions.at(-1)
    if (last !== undefined) versions.push(evolve(chance, { last, features, at: versions.length }))
  }
  const own = chance.pick(86_400_000, 20_000, 8000)
  return { features, versions, retentionMs: features.has('own retention') ? own : retentionMs }
}

/** The version of the plan that a node of this number runs. */
export function versionOf({ versions }: Plan, number: number): Version {
  const version = versions[Math.min(number, versions.length) - 1]
  if (version === undefined) throw new RangeError(`There is no version ${number}.`)
  return version
}

function firstVersion(chance: Chance, features: ReadonlySet<Feature>): Version {
  const first = features.has('call first')
    ? callSite('s1', chance, features)
    : phaseSite('s1', chance, features)
  const middle = Array.from({ length: chance.pick(1, 1, 2, 3) }, (_, index) => {
    const id = `s${index + 2}`
    return index === 0 || chance.happens(0.6)
      ? callSite(id, chance, features)
      : phaseSite(id, chance, features)
  })
  const branched = features.has('branches')
    ? middle.flatMap((site) => branches(site, chance))
    : middle
  const order = [first, ...branched, phaseSite('end', chance, features)]
  return {
    number: 1,
    order,
    names: namesOf(order, new Map()),
    migrates: false,
    isStrict: false,
    changes: [],
  }
}

/** The site, or two of which each request comes to one. */
function branches(site: Site, chance: Chance): readonly Site[] {
  if (chance.happens(0.5)) return [site]
  return [
    { ...site, id: `${site.id}x`, branch: 0 },
    { ...site, id: `${site.id}y`, branch: 1 },
  ]
}

function phaseSite(id: string, chance: Chance, features: ReadonlySet<Feature>): Site {
  const isUnlimited = features.has('unlimited phases') && chance.happens(0.5)
  const timeoutMs = isUnlimited ? undefined : chance.pick(1500, 5000)
  return { id, call: undefined, branch: undefined, timeoutMs }
}

function callSite(id: string, chance: Chance, features: ReadonlySet<Feature>): Site {
  const repeat = chance.pick('never', 'never', 'with-key', 'with-key', 'always')
  const odd: readonly Manner[] = ['silent', 'garbage', 'throws']
  const hanging: readonly Manner[] = features.has('hanging calls') ? ['hangs'] : []
  const possible: readonly Manner[] = features.has('odd answers') ? [...odd, ...hanging] : hanging
  const known: Manner = chance.pick('honest', 'honest', 'voids', 'silent')
  const manners: readonly Manner[] = [known, ...possible.filter(() => chance.happens(0.4))]
  const call: CallManner = {
    repeat,
    honoursKeys: repeat === 'with-key' || chance.happens(0.2),
    manners: chance.happens(0.6) ? manners : [],
    declined: chance.pick('nothing', 'answers', 'goes on'),
  }
  return { id, call, branch: undefined, timeoutMs: chance.pick(1500, 4000) }
}

interface Evolving {
  readonly last: Version
  readonly features: ReadonlySet<Feature>
  /** How many versions there are before it. */
  readonly at: number
}

/** The next version. */
function evolve(chance: Chance, { last, features, at }: Evolving): Version {
  let order = [...last.order]
  const given = new Map(last.names)
  const changes: string[] = []
  let { number } = last
  let needsMigrate = false
  const middle = () => Math.floor(chance.fraction() * (order.length - 2)) + 1
  const isDone = (feature: Feature) => {
    const happens = features.has(feature) && chance.happens(0.6)
    if (happens) changes.push(feature)
    return happens
  }
  if (isDone('additions')) {
    const id = `v${at}`
    const site = chance.happens(0.5)
      ? callSite(id, chance, features)
      : phaseSite(id, chance, features)
    order.splice(middle(), 0, site)
  }
  if (order.length > 3 && isDone('removals')) order.splice(middle(), 1)
  if (order.length > 3 && isDone('reorders')) {
    const [moved] = order.splice(middle(), 1)
    if (moved !== undefined) order.splice(middle(), 0, moved)
  }
  if (isDone('renames')) {
    for (const { id } of order.slice(1)) {
      if (chance.happens(0.6)) given.set(id, `${id}_${at}`)
    }
  }
  if (isDone('moved start')) {
    const [first] = order
    if (first !== undefined) given.set(first.id, `${first.id}_${at}`)
    order = [phaseSite(`w${at}`, chance, features), ...order]
    number++
    needsMigrate = true
  } else if (isDone('versions')) number++
  const isStrict = last.isStrict || isDone('tightened input')
  const migrates = needsMigrate || chance.happens(0.75)
  return { number, order, names: namesOf(order, given), migrates, isStrict, changes }
}

function namesOf(
  order: readonly Site[],
  given: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  return new Map(order.map(({ id }, at) => [id, at === 0 ? 'started' : (given.get(id) ?? id)]))
}
