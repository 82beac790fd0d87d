/**
 * A request, for people.
 *
 * @module
 */

import type { Payload, RequestDetail, RequestSummary } from '../../admin/admin.ts'
import { fittedTable, pairs, printable, printableJson, table } from '../output.ts'
import { duration, instant } from '../words.ts'

/** How requests are shown in a table. */
export interface TableView {
  readonly now: number
  /** Columns of the terminal; `null` for as many as it takes. */
  readonly width: number | null
  /** Whether anybody notes duplicates. */
  readonly hasDuplicates: boolean
}

/** Requests in a table. */
export function requestTable(
  items: readonly RequestSummary[],
  { now, width, hasDuplicates }: TableView,
): string {
  const heads = ['STATE', 'KEY', 'ROUTE', 'CLIENT', 'POINT', 'TRIES', 'DUPS', 'STATUS', 'AGE', 'ID']
  const rows = items.map((item) => [
    ...[item.state, item.key, item.operation, item.caller],
    ...[item.recoveryPoint ?? '-', String(item.attempts)],
    hasDuplicates ? String(item.duplicates) : '-',
    ...[item.status === null ? '-' : String(item.status), duration(now - item.createdAt), item.id],
  ])
  if (width === null) return table(heads, rows)
  const drop = ['ID', 'POINT', 'TRIES', 'CLIENT']
  return fittedTable(heads, rows, { width, cut: ['KEY', 'ROUTE', 'CLIENT', 'POINT'], drop })
}

/** Everything about one request. */
export function requestText(
  detail: RequestDetail,
  { payload, hasDuplicates }: { payload: Payload | undefined; hasDuplicates: boolean },
): string {
  const lines = pairs([
    ['id', detail.id],
    ['key', detail.key],
    ['route', detail.operation],
    ['client', detail.caller],
    ['state', detail.state],
    ['status', detail.status === null ? '-' : String(detail.status)],
    ['recovery point', detail.recoveryPoint ?? '-'],
    ['attempts', String(detail.attempts)],
    ['duplicates', hasDuplicates ? String(detail.duplicates) : 'not recorded'],
    ['created', instant(detail.createdAt)],
    ['finished', instant(detail.finishedAt)],
    ['expires', instant(detail.expiresAt)],
    ['lease until', instant(detail.leaseUntil)],
    ['request id', detail.requestId ?? '-'],
    ['from', [detail.ip, detail.userAgent].filter((part) => part !== null).join(', ') || '-'],
    ['made', detail.resource === null ? '-' : `${detail.resource.type} ${detail.resource.id}`],
    ['dead letter', detail.letter ?? '-'],
    ...(detail.personAt === null
      ? []
      : ([['before a person', `from ${instant(detail.personAt)}`]] as const)),
  ])
  const jobs = detail.jobs.map(
    ({ name, state, jobId }) => `  ${state}  ${printable(name)}  ${jobId}`,
  )
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
    ...(payload === undefined ? [] : section('Payload', [printableJson(payload, 2)])),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines]
}
