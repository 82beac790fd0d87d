/**
 * A request, for people.
 *
 * @module
 */

import type { Payload, RequestDetail, RequestSummary } from '../../admin/admin.ts'
import { pairs, printable, table } from '../output.ts'
import { duration, instant } from '../words.ts'

/** Requests in a table. */
export function requestTable(items: readonly RequestSummary[], now: number): string {
  const heads = ['STATE', 'KEY', 'ROUTE', 'CLIENT', 'POINT', 'TRIES', 'DUPS', 'STATUS', 'AGE', 'ID']
  const rows = items.map((item) => [
    ...[item.state, cut(item.key, 30), cut(item.operation, 30), cut(item.caller, 20)],
    ...[item.recoveryPoint ?? '-', String(item.attempts), String(item.duplicates)],
    ...[item.status === null ? '-' : String(item.status), duration(now - item.createdAt), item.id],
  ])
  return table(heads, rows)
}

/** Everything about one request. */
export function requestText(detail: RequestDetail, payload: Payload | undefined): string {
  const lines = pairs([
    ['id', detail.id],
    ['key', detail.key],
    ['route', detail.operation],
    ['client', detail.caller],
    ['state', detail.state],
    ['status', detail.status === null ? '-' : String(detail.status)],
    ['recovery point', detail.recoveryPoint ?? '-'],
    ['attempts', String(detail.attempts)],
    ['duplicates', String(detail.duplicates)],
    ['created', instant(detail.createdAt)],
    ['finished', instant(detail.finishedAt)],
    ['expires', instant(detail.expiresAt)],
    ['lease until', instant(detail.leaseUntil)],
    ['request id', detail.requestId ?? '-'],
    ['from', [detail.ip, detail.userAgent].filter((part) => part !== null).join(', ') || '-'],
    ['made', detail.resource === null ? '-' : `${detail.resource.type} ${detail.resource.id}`],
    ['dead letter', detail.letter ?? '-'],
  ])
  const jobs = detail.jobs.map(({ name, state, jobId }) => `  ${state}  ${name}  ${jobId}`)
  const actions = detail.possibilities.map(
    ({ action, isAllowed, reason }) => `  ${isAllowed ? 'can' : 'can not'} ${action}: ${reason}`,
  )
  return [
    ...[lines, '', printable(detail.explanation)],
    ...section(
      'What happened',
      detail.story.map((line) => `  ${printable(line)}`),
    ),
    ...section('Staged jobs', jobs),
    ...section('What can be done', actions),
    ...(payload === undefined ? [] : section('Payload', [JSON.stringify(payload, undefined, 2)])),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines]
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
