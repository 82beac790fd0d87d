/**
 * The routes that read. Equal readings are shared by all who ask within a moment.
 *
 * @module
 */

import type { Admin, Overview, RequestDetail, RequestFilter, StateCounts } from '../admin/admin.ts'
import type { DeadLetter } from '../engine/letters.ts'
import { may, sees } from './access.ts'
import { ACTIONS, type Viewer } from './options.ts'
import { filterOf, isSettledOf, jobStateOf, pageOf, resultsOf, STATES, windowOf } from './query.ts'
import { Refused } from './reply.ts'
import type { Asked, ReadRoute, Result } from './route.ts'

/** Every route that reads. */
export const READS: readonly ReadRoute[] = [
  { method: 'GET', path: 'hello', answer: async (asked) => ok(hello(asked)) },
  { method: 'GET', path: 'overview', answer: async (asked) => ok(await overviewOf(asked)) },
  { method: 'GET', path: 'pulse', answer: async (asked) => ok(await pulseOf(asked)) },
  {
    ...{ method: 'GET', path: 'counts' },
    answer: async (asked) => ok(await countsOf(asked, filterOf(asked.query))),
  },
  { method: 'GET', path: 'requests', answer: listRequests },
  {
    ...{ method: 'GET', path: 'requests/:id' },
    answer: async (asked) => ok(await detailOf(asked, asked.params['id'] ?? '')),
  },
  { method: 'GET', path: 'keys', answer: findKey },
  { method: 'GET', path: 'letters', answer: listLetters },
  {
    ...{ method: 'GET', path: 'letters/:letter' },
    answer: async (asked) =>
      ok(withoutPayload(await letterOf(asked, asked.params['letter'] ?? ''))),
  },
  {
    ...{ method: 'GET', path: 'duplicates', isForAll: true },
    answer: async ({ admin, cache, query }) => {
      const results = resultsOf(query)
      const page = { ...pageOf(query), ...(results === undefined ? {} : { results }) }
      return ok(await cache.get(`duplicates ${query}`, () => admin.duplicates(page)))
    },
  },
  {
    ...{ method: 'GET', path: 'jobs', isForAll: true },
    answer: async ({ admin, cache, query }) => {
      const state = jobStateOf(query)
      const page = { ...pageOf(query), ...(state === undefined ? {} : { state }) }
      return ok(await cache.get(`jobs ${query}`, () => admin.jobs(page)))
    },
  },
  {
    ...{ method: 'GET', path: 'workers' },
    answer: async ({ admin, cache }) => ok(await cache.get('workers', () => admin.workers())),
  },
  {
    ...{ method: 'GET', path: 'audit', isForAll: true },
    answer: async ({ admin, cache, query }) => {
      const page = pageOf(query)
      return ok(await cache.get(`audit ${query}`, () => admin.audit(page)))
    },
  },
  { method: 'GET', path: 'batches/:batch', answer: batchOf },
]

function ok(body: unknown): Result {
  return { status: 200, body }
}

/** Who looks and what they may do: the first thing that the page asks. */
function hello({ viewer, options }: Asked): object {
  const { readOnly = false, label = null, traceUrl = null, callUrl = null } = options
  return {
    ...{ user: viewer.user, readOnly, label, traceUrl, callUrl },
    can: ACTIONS.filter(
      (action) => may(viewer, action) && (!readOnly || action === 'payload.read'),
    ),
    isScoped: viewer.scopes !== undefined,
  }
}

/** The sums over all callers are nobody's business who may see only some of them. */
async function overviewOf(asked: Asked): Promise<Overview> {
  const windowMs = windowOf(asked.query)
  const overview = await sharedOverview(asked, windowMs)
  if (asked.viewer.scopes === undefined) return overview
  const states = await countsOf(asked, {})
  const zero = Object.fromEntries(Object.keys(overview.totals).map((name) => [name, 0]))
  return {
    ...overview,
    // The same names, so the same shape.
    totals: zero as Overview['totals'],
    hitRate: { ...overview.hitRate, rate: null, band: 'not_enough_data', label: 'Not shown' },
    ...{ series: [], byOperation: [], byCaller: [], states, concerns: [] },
  }
}

/** One reading for every page that shows this window, and for those who watch. */
function sharedOverview(
  { admin, cache }: Pick<Asked, 'admin' | 'cache'>,
  windowMs: number,
): Promise<Overview> {
  return cache.get(`overview ${windowMs}`, () => admin.overview({ windowMs }))
}

/** The window that those who watch are told about, in milliseconds. */
const PULSE_WINDOW_MS = 3_600_000

/** What changes from moment to moment and concerns every page. */
export interface Pulse {
  readonly now: number
  readonly states: StateCounts
  readonly concerns: number
}

/** The pulse, for those who can not be told and ask. */
export async function pulseOf(asked: Pick<Asked, 'admin' | 'cache' | 'viewer'>): Promise<Pulse> {
  const { now, states, concerns } = await sharedOverview(asked, PULSE_WINDOW_MS)
  if (asked.viewer.scopes === undefined) return { now, states, concerns: concerns.length }
  return { now, states: await countsOf(asked, {}), concerns: 0 }
}

async function countsOf(
  { admin, cache, viewer }: Pick<Asked, 'admin' | 'cache' | 'viewer'>,
  filter: RequestFilter,
): Promise<StateCounts> {
  const { scopes } = viewer
  const read = (one: RequestFilter) =>
    cache.get(`counts ${JSON.stringify(one)}`, () => admin.counts(one))
  if (scopes === undefined) return read(filter)
  const callers =
    filter.caller === undefined ? scopes : scopes.filter((one) => one === filter.caller)
  const each = await Promise.all(callers.map((caller) => read({ ...filter, caller })))
  const sums = STATES.map((state) => [state, each.reduce((sum, one) => sum + one[state], 0)])
  // Every state is there.
  return Object.fromEntries(sums) as StateCounts
}

async function listRequests({ admin, cache, viewer, query }: Asked): Promise<Result> {
  const filter = scoped(viewer, filterOf(query))
  const page = pageOf(query)
  const name = `requests ${JSON.stringify([filter, page])}`
  const { items, next } = await cache.get(name, () => admin.list(filter, page))
  return ok({ items: items.filter(({ caller }) => sees(viewer, caller)), next })
}

/** A person who sees one caller asks for that one; all other pages are sifted. */
function scoped({ scopes }: Viewer, filter: RequestFilter): RequestFilter {
  const [caller, ...others] = scopes ?? []
  if (caller === undefined || others.length > 0 || filter.caller !== undefined) return filter
  return { ...filter, caller }
}

async function findKey({ admin, cache, viewer, query }: Asked): Promise<Result> {
  const key = query.get('key') ?? ''
  const found = await cache.get(`key ${key}`, () => admin.findByKey(key))
  return ok(found.filter(({ caller }) => sees(viewer, caller)))
}

/** A request, if it exists for this person. */
export async function detailOf(
  { admin, cache, viewer }: Pick<Asked, 'admin' | 'cache' | 'viewer'>,
  id: string,
): Promise<RequestDetail> {
  const detail = await cache.get(`request ${id}`, () => admin.find(id))
  if (detail === undefined || !sees(viewer, detail.caller)) {
    throw new Refused(404, 'not_found', 'There is no such request, or it is past its retention.')
  }
  return detail
}

/** A letter, if it exists for this person. */
export async function letterOf(
  { admin, viewer }: Pick<Asked, 'admin' | 'viewer'>,
  letter: string,
): Promise<DeadLetter> {
  const found = await admin.letter(letter)
  if (found === undefined || !sees(viewer, found.caller)) {
    throw new Refused(404, 'not_found', 'There is no such letter.')
  }
  return found
}

async function listLetters({ admin, cache, viewer, query }: Asked): Promise<Result> {
  const isSettled = isSettledOf(query)
  const page: Parameters<Admin['letters']>[0] = {
    ...pageOf(query),
    ...(isSettled === undefined ? {} : { isSettled }),
  }
  const { items, next } = await cache.get(`letters ${query}`, () => admin.letters(page))
  const seen = items.filter(({ caller }) => sees(viewer, caller))
  return ok({ items: seen.map(withoutPayload), next })
}

/** Input and state are shown to those who may see them, by another route. */
function withoutPayload({ input: _, state: __, ...letter }: DeadLetter): object {
  return letter
}

async function batchOf({ admin, viewer, params }: Asked): Promise<Result> {
  const batch = await admin.batch(params['batch'] ?? '')
  if (batch === undefined || viewer.scopes !== undefined) {
    throw new Refused(404, 'not_found', 'There is no such batch.')
  }
  return ok(batch)
}
