/**
 * The client's log: every attempt, with its curl, its answer and the row before and after.
 *
 * @module
 */

import type { RecordRow } from '../queries.ts'
import { byId, copyOf, make, setText } from './elements.ts'
import type { Attempt, Payment } from './player.ts'
import { curlOf, type Heard, TARGETS } from './request.ts'

/** Shows the attempts, newest last; those that are shown and did not change stay as they are. */
export function showAttempts({ attempts }: Payment): void {
  const list = byId('attempts')
  const wanted = attempts.map(versionOf)
  Array.from(list.children)
    .slice(attempts.length)
    .forEach((item) => item.remove())
  attempts.forEach((attempt, index) => {
    const shown = list.children[index]
    const version = wanted[index] ?? ''
    if (shown?.getAttribute('data-version') === version) return
    const isOpen = shown?.querySelector('details')?.open ?? false
    const item = itemOf(attempt, version, isOpen)
    if (shown) shown.replaceWith(item)
    else list.append(item)
    list.scrollTop = list.scrollHeight
  })
}

/** The same for the same content, so that nobody loses their place for nothing. */
function versionOf({ sent, number, heard, after }: Attempt): string {
  return `${sent.key} ${number} ${heard === null ? 'waits' : 'heard'} ${after === null ? '' : 'read'}`
}

function itemOf(attempt: Attempt, version: string, isOpen: boolean): HTMLElement {
  const { sent, heard, number, before, after } = attempt
  const command = make('pre', curlOf(sent, location.origin))
  const copies = make('button', 'Copy', { type: 'button', class: 'small', 'aria-live': 'polite' })
  copies.addEventListener('click', () => {
    void copyOf(command).then((done) => setText(copies, done))
  })
  const summary = make('summary', [
    `${number}. ${faultsOf(attempt)} → `,
    make('span', wordsOf(heard), { class: classOf(heard) }),
  ])
  const details = make('details', [
    summary,
    make('h3', ['Sent ', copies]),
    command,
    make('h3', 'Answer'),
    make('pre', heard?.body || 'none'),
    make('h3', 'Row before'),
    make('pre', rowText(before)),
    make('h3', 'Row after'),
    make('pre', rowText(after)),
  ])
  if (isOpen) details.setAttribute('open', '')
  return make('li', [details], { 'data-version': version })
}

function faultsOf({ sent }: Attempt): string {
  const asked = sent.fault.replaceAll(',', ' + ')
  const what = sent.target === TARGETS.other ? 'another ride' : 'pay'
  return asked === '' ? what : `${what}, ${asked}`
}

/** What was heard, in words. */
function wordsOf(heard: Heard | null): string {
  if (heard === null) return '…'
  const { status, isReplayed, retryAfterMs, tookMs } = heard
  const took = `${tookMs} ms`
  if (status === null) return `no answer, ${took}`
  const mark = isReplayed ? ' replayed' : ''
  const later = retryAfterMs === null ? '' : `, again in ${retryAfterMs / 1000} s`
  return `${status}${mark}${later}, ${took}`
}

function classOf(heard: Heard | null): string {
  if (heard === null) return 'soft'
  const { status } = heard
  if (status === null || status >= 500) return 'bad'
  return status < 300 ? 'good' : 'open'
}

/** A row as text. */
export function rowText(record: RecordRow | null): string {
  if (record === null) return 'none'
  const members = Object.entries(record).map(
    ([name, value]) => `${name.padEnd(15)}${value ?? 'null'}`,
  )
  return members.join('\n')
}
