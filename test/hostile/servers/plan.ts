/**
 * What happens in a world, as plain data: it follows from the seed, and can be made smaller.
 *
 * @module
 */

import { Chance } from '../../engine/chance.ts'

/** How an origin treats keys: shows that it honours them, honours them silently, or ignores them. */
export const KINDS = ['honours', 'mute', 'ignores'] as const

export type Kind = (typeof KINDS)[number]

/** What happens to one request of an operation. */
export type Fate =
  | { readonly kind: 'pass' }
  /** Nobody listens on the port. */
  | { readonly kind: 'refused' }
  /** The connection breaks before the server has done anything. */
  | { readonly kind: 'lost' }
  /** The server does it, and its answer is cut at that share of its bytes, in order or by a reset. */
  | { readonly kind: 'cut'; readonly at: number; readonly isReset: boolean }
  /** Nothing is ever answered. */
  | { readonly kind: 'hang'; readonly hasEffect: boolean }
  /** The server does it that many milliseconds later, whoever still waits. */
  | { readonly kind: 'late'; readonly ms: number }
  /** A failure, with or without the effect. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly hasEffect: boolean
      readonly retryAfter: string | null
    }
  /** The server decides against it, for good. */
  | { readonly kind: 'denied'; readonly status: number }
  /** The server says that it is at work on it, and is not. */
  | { readonly kind: 'in-progress'; readonly retryAfter: string | null }
  | { readonly kind: 'redirect'; readonly status: number; readonly to: Target }
  /** The server does it, and sends the client to a page that shows the result. */
  | { readonly kind: 'result-page' }
  /** A page of somebody on the way, in the place of the server. */
  | { readonly kind: 'portal' }

/** Where a redirect leads: the operation's new place, a login page, a page in a circle, or another origin. */
export type Target = 'moved' | 'login' | 'circle' | 'foreign'

export type User = 'alice' | 'bob'

/** An operation that the app asks for. */
export interface Operation {
  /** The origin, by its number among {@link KINDS}. */
  readonly origin: number
  readonly method: 'POST' | 'PUT' | 'PATCH'
  readonly resource: 'cart' | null
  readonly deadlineMs: number
  /** Whether it has a key; without one it goes through untouched. */
  readonly hasKey: boolean
  /** Bytes of its body beside what every body says. */
  readonly size: number
  readonly fates: readonly Fate[]
}

/** How long the world waits after an act: not at all, for a turn of the event loop, or until nothing moves. */
export type Wait = 'none' | 'turn' | 'quiet'

/** What the app, its user or its machine does. */
export type Act = { readonly wait: Wait; readonly process: number } & (
  | { readonly do: 'send'; readonly op: number }
  | { readonly do: 'login'; readonly user: User }
  | { readonly do: 'network'; readonly isOn: boolean }
  | { readonly do: 'resume' }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'abort'; readonly op: number }
  | { readonly do: 'kill' }
  | { readonly do: 'damage'; readonly how: Damage; readonly share: number }
)

export type Damage = 'truncate' | 'garbage' | 'foreign' | 'left-over'

export const VERBS = ['put', 'get', 'remove', 'list', 'lock'] as const

export type Verb = (typeof VERBS)[number]

/** What a verb of the journal, or a function of the app, does when it is called for the nth time. */
export interface Fault {
  readonly of: Verb | 'headers' | 'caller'
  readonly nth: number
  /**
   * Never ends; ends when the world is healed; fails; works and fails all the same; or fails from then on
   * until the world is healed.
   */
  readonly kind: 'hang' | 'late' | 'fail' | 'fail-after' | 'dead'
}

/** A world. */
export interface Plan {
  readonly unprotected: 'retry' | 'refuse'
  readonly redirects: 'same-host' | 'any'
  readonly retentionMs: number
  readonly attemptsMax: number
  readonly journal: 'memory' | 'folder' | 'storage'
  /** How many processes share the journal. */
  readonly processes: 1 | 2
  /** Whether each process first sees that an origin which shows that it honours keys does so. */
  readonly hello: boolean
  readonly ops: readonly Operation[]
  readonly acts: readonly Act[]
  readonly faults: readonly Fault[]
}

/** The world of a seed. */
export function planOf(seed: number): Plan {
  const chance = new Chance(seed)
  const upTo = (most: number) => Math.floor(chance.fraction() * (most + 1))
  const many = <T>(count: number, make: (at: number) => T) =>
    Array.from({ length: count }, (_, at) => make(at))
  const journal = chance.pick('memory' as const, 'folder', 'storage')
  const processes = chance.happens(0.35) ? 2 : 1
  const hello = chance.happens(0.4)
  const isCalm = chance.happens(0.3)
  const ops = many(1 + upTo(3), () => operationOf(chance, { hello, isCalm }))
  const acts: Act[] = []
  const order = ops.map((_, op) => op)
  const next = () =>
    ({ wait: chance.pick('none', 'turn', 'quiet', 'quiet'), process: upTo(processes - 1) }) as const
  for (const op of order) {
    for (let left = upTo(2); left > 0; left--)
      acts.push({ ...next(), ...actOf(chance, { ops: op, journal }) })
    acts.push({ ...next(), do: 'send', op })
  }
  for (let left = upTo(5); left > 0; left--)
    acts.push({ ...next(), ...actOf(chance, { ops: ops.length, journal }) })
  if (chance.happens(0.08)) return calmPlanOf(chance, { ...BASE, ops })
  const faults = chance.happens(0.45) ? many(1 + upTo(2), () => faultOf(chance)) : []
  return {
    unprotected: chance.pick('retry', 'refuse'),
    redirects: chance.happens(0.2) ? 'any' : 'same-host',
    retentionMs: chance.happens(0.15) ? 8_000 : 86_400_000,
    attemptsMax: chance.pick(1, 2, 5),
    ...{ journal, processes, hello, ops, acts, faults },
  }
}

const BASE = { unprotected: 'refuse', redirects: 'same-host', retentionMs: 86_400_000 } as const

/** A world in which operations meet nothing but redirects to their new place. */
function calmPlanOf(
  chance: Chance,
  base: Pick<Plan, 'unprotected' | 'redirects' | 'retentionMs' | 'ops'>,
): Plan {
  const ops = base.ops.map((op): Operation => {
    const status = chance.pick(307, 308)
    return { ...op, hasKey: true, fates: [{ kind: 'redirect', status, to: 'moved' }] }
  })
  const acts = ops.map((_, op): Act => ({ wait: 'none', process: 0, do: 'send', op }))
  const rest = { journal: 'memory', processes: 1, hello: false, faults: [] } as const
  return { ...base, ...rest, ops, acts, attemptsMax: 1 }
}

function operationOf(
  chance: Chance,
  { hello, isCalm }: { hello: boolean; isCalm: boolean },
): Operation {
  const origin = chance.pick(0, 0, 1, 2)
  const fates: Fate[] = []
  const kind = KINDS[origin] ?? 'honours'
  // The usual way to lose a session: the effect is there, its answer is not, and then comes a login page.
  if (chance.happens(0.1)) {
    const to = chance.pick('login' as const, 'login', 'foreign')
    fates.push({ kind: 'cut', at: chance.fraction(), isReset: chance.happens(0.5) })
    fates.push({ kind: 'redirect', status: chance.pick(302, 303, 307), to })
  }
  while (chance.happens(isCalm ? 0.3 : 0.7) && fates.length < 6)
    fates.push(fateOf(chance, { hello, kind }))
  return {
    ...{ origin, fates },
    method: chance.pick('POST', 'POST', 'PUT', 'PATCH'),
    resource: chance.happens(0.4) ? 'cart' : null,
    deadlineMs: chance.pick(1_500, 4_000),
    hasKey: !chance.happens(0.08),
    size: chance.pick(0, 0, 10, 70_000),
  }
}

const RETRY_AFTER = [
  '0',
  '1',
  '2',
  '999999999999999',
  '-1',
  'soon',
  'Thu, 01 Jan 1970 00:00:00 GMT',
] as const

function fateOf(chance: Chance, { hello, kind }: { hello: boolean; kind: Kind }): Fate {
  const retryAfter = chance.happens(0.5) ? chance.pick(...RETRY_AFTER) : null
  const hasEffect = chance.happens(0.5)
  const made: readonly (() => Fate)[] = [
    () => ({ kind: 'pass' }),
    () => ({ kind: 'refused' }),
    () => ({ kind: 'lost' }),
    () => ({ kind: 'cut', at: chance.pick(0, 0.02, 1, chance.fraction()), isReset: hasEffect }),
    () => ({ kind: 'cut', at: chance.fraction(), isReset: hasEffect }),
    () => ({ kind: 'hang', hasEffect }),
    () => ({ kind: 'late', ms: Math.ceil(chance.fraction() * 3_000) }),
    () => ({
      kind: 'status',
      status: chance.pick(500, 502, 503, 504, 408, 520),
      hasEffect,
      retryAfter,
    }),
    () => ({
      kind: 'status',
      status: chance.pick(425, 429, 401, 403),
      hasEffect: false,
      retryAfter,
    }),
    () => ({ kind: 'denied', status: chance.pick(400, 404, 409, 422, 501) }),
    () => (kind === 'ignores' ? { kind: 'lost' } : { kind: 'in-progress', retryAfter }),
    () => redirectOf(chance),
    () => redirectOf(chance),
    () => ({ kind: 'result-page' }),
    // Nobody can tell such a page from the answer of an origin that has shown nothing.
    () => (hello && kind === 'honours' ? { kind: 'portal' } : redirectOf(chance)),
  ]
  return (made[Math.floor(chance.fraction() * made.length)] ?? made[0])?.() ?? { kind: 'pass' }
}

function redirectOf(chance: Chance): Fate {
  const status = chance.pick(301, 302, 303, 307, 308)
  return {
    kind: 'redirect',
    status,
    to: chance.pick('moved', 'login', 'login', 'circle', 'foreign'),
  }
}

type Deed<A = Act> = A extends Act ? Omit<A, 'wait' | 'process'> : never

function actOf(chance: Chance, { ops, journal }: { ops: number; journal: Plan['journal'] }): Deed {
  const op = Math.floor(chance.fraction() * Math.max(1, ops))
  const made: readonly (() => Deed)[] = [
    () => ({ do: 'login', user: chance.pick('alice', 'bob') }),
    () => ({ do: 'login', user: 'bob' }),
    () => ({ do: 'network', isOn: false }),
    () => ({ do: 'network', isOn: true }),
    () => ({ do: 'resume' }),
    () => ({ do: 'resume' }),
    () => ({ do: 'advance', ms: chance.pick(100, 300, 1_000, 2_500) }),
    () => ({ do: 'advance', ms: chance.pick(100, 300, 1_000, 2_500) }),
    () => ({ do: 'abort', op }),
    () => ({ do: 'kill' }),
    () =>
      journal === 'memory'
        ? { do: 'resume' }
        : {
            ...{ do: 'damage', share: chance.fraction() },
            how: chance.pick('truncate', 'garbage', 'foreign', 'left-over'),
          },
  ]
  return (made[Math.floor(chance.fraction() * made.length)] ?? made[0])?.() ?? { do: 'resume' }
}

function faultOf(chance: Chance): Fault {
  const of = chance.pick(...VERBS, 'put', 'headers', 'headers', 'caller')
  const kind = chance.pick('hang', 'late', 'fail', 'fail-after', 'dead')
  // Nobody waits for a name, and nobody can give back a lock that he does not know of.
  const isFailing = of === 'caller' || (of === 'lock' && kind === 'fail-after')
  return { of, kind: isFailing ? 'fail' : kind, nth: Math.floor(chance.fraction() * 9) }
}

/** Plans that do a little less, the most promising first. */
export function smallerPlans(plan: Plan): readonly Plan[] {
  const { acts, faults, ops } = plan
  const without = <T>(list: readonly T[], at: number) => list.filter((_, other) => other !== at)
  const withOp = (at: number, changes: Partial<Operation>) =>
    ({ ...plan, ops: ops.map((op, other) => (other === at ? { ...op, ...changes } : op)) }) as Plan
  return [
    ...acts.map((_, at) => ({ ...plan, acts: without(acts, at) })),
    ...faults.map((_, at) => ({ ...plan, faults: without(faults, at) })),
    ...ops.flatMap(({ fates }, at) =>
      fates.map((_, fate) => withOp(at, { fates: without(fates, fate) })),
    ),
    ...ops.flatMap(({ resource }, at) =>
      resource === null ? [] : [withOp(at, { resource: null })],
    ),
    ...ops.flatMap(({ size }, at) => (size === 0 ? [] : [withOp(at, { size: 0 })])),
    ...(plan.hello ? [{ ...plan, hello: false }] : []),
    ...(plan.processes === 2
      ? [{ ...plan, processes: 1 as const, acts: acts.map((act) => ({ ...act, process: 0 })) }]
      : []),
    ...acts.flatMap((act, at) =>
      act.wait === 'quiet'
        ? []
        : [
            {
              ...plan,
              acts: acts.map((one, other) =>
                other === at ? { ...one, wait: 'quiet' as const } : one,
              ),
            },
          ],
    ),
  ]
}
