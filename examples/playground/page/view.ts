/**
 * Shows a payment: verdict, phases, ledger.
 *
 * @module
 */

import type { Story } from '../story.ts'
import { rowText, showAttempts } from './attempts-view.ts'
import { byId, make, setText } from './elements.ts'
import type { Payment, Player } from './player.ts'
import { crashesOf, shortKey, verdictOf } from './verdict.ts'

const POINTS = ['started', 'ride_created', 'charge_created', 'finished']

const ROUTES: Readonly<Record<string, string>> = {
  '/rides': 'with idempotency',
  '/demo/payments/unprotected': 'without idempotency',
  '/demo/payments/careful': 'provider ignores keys',
}

/** Shows everything that the player knows. */
export function show({ payment, last }: Player): void {
  if (payment === null) return
  const { state, short, text } = verdictOf(payment)
  const charges = payment.story?.charges.length ?? 0
  byId('verdict').dataset['state'] = state
  setText(byId('verdict-short'), short)
  setText(byId('verdict-text'), text)
  setText(byId('charge-count'), String(charges))
  setText(byId('charge-word'), charges === 1 ? 'charge' : 'charges')
  setText(byId('key'), payment.key)
  byId('in-dashboard').setAttribute('href', `/dashboard/requests?q=key:${payment.key}`)
  showServer(payment.story, payment.path)
  showAttempts(payment)
  byId('ledger').replaceChildren(...Object.keys(ROUTES).flatMap((path) => rowsOf(last.get(path))))
}

function rowsOf(payment: Payment | undefined): HTMLElement[] {
  if (payment === undefined) return []
  const { key, path, attempts, story } = payment
  const { state, short } = verdictOf(payment)
  const charges = story?.charges ?? []
  const list = charges.map(({ id, amount }) =>
    make('div', [make('code', `${id.slice(0, 11)}…`), ` $${(amount / 100).toFixed(2)}`]),
  )
  const isReceipted = path === '/rides'
  return [
    make('tr', [
      make('th', ROUTES[path] ?? path, { scope: 'row' }),
      cell('Key', [make('code', shortKey(key))]),
      cell('Attempts', [String(attempts.length)]),
      cell('Crashes', [String(crashesOf(payment))]),
      cell('Charges', list.length === 0 ? ['none'] : [make('div', list)]),
      cell('Receipts', [isReceipted ? String(story?.receipts ?? 0) : '–']),
      cell('Verdict', [make('span', short, { class: state })]),
    ]),
  ]
}

/** A cell that says what it is also where the table has no head, on a narrow screen. */
function cell(label: string, content: readonly (Node | string)[]): HTMLElement {
  return make('td', content, { 'data-label': label })
}

function showServer(story: Story | null, path: string): void {
  const record = story?.record ?? null
  const isUnprotected = path === '/demo/payments/unprotected'
  const reached = record?.status != null ? 3 : POINTS.indexOf(record?.recovery_point ?? '')
  const items = byId('phases').querySelectorAll('li')
  items.forEach((item, index) => {
    item.dataset['state'] = phaseState(story, index, reached)
  })
  setText(byId('state'), isUnprotected ? 'nothing is kept: no record, no phases' : stateOf(story))
  setText(byId('lock'), record === null ? '–' : lockOf(record))
  setText(byId('actors'), actorsOf(story))
  setText(byId('row'), rowText(record))
}

/** A phase is done when the record has got past it, and at work while somebody holds the lock. */
function phaseState(story: Story | null, index: number, reached: number): string {
  if (index <= reached) return 'done'
  if (story?.record == null || index !== reached + 1) return 'open'
  return story.record.is_locked ? 'now' : 'stopped'
}

function stateOf(story: Story | null): string {
  if (story?.record == null) return '–'
  const { status, is_locked } = story.record
  if (story.letter !== null) return '⚑ Needs a person'
  if (status !== null) return `✓ Finished with ${status}, replayable`
  if (is_locked) return '▶ Running'
  return '◔ Unfinished: the next retry, or the completer, takes it up'
}

function lockOf({ is_locked, owner, lease_until, fence }: NonNullable<Story['record']>): string {
  const turn = fence === 1 ? 'first run' : `run ${fence}`
  if (!is_locked) return `free, ${turn}`
  const until = new Date(lease_until ?? 0).toLocaleTimeString()
  return `held by ${owner?.slice(0, 6) ?? 'nobody'} until ${until}, ${turn}`
}

function actorsOf(story: Story | null): string {
  const runs = new Map(story?.attempts.map(({ fence, actor }) => [fence, actor]))
  if (runs.size === 0) return '–'
  return [...runs].map(([fence, actor]) => `run ${fence}: ${actor}`).join(', ')
}
