/**
 * The phases of a request one after the other, with the gaps where a process was lost.
 *
 * @module
 */

import type { RequestDetail } from '../../src/admin/admin.ts'
import type { HistoryEntry } from '../../src/engine/letters.ts'
import { session } from '../session.ts'
import { t } from '../strings.ts'
import { WithCodes } from './error-codes.tsx'
import { Icon, type IconName } from './icon.tsx'
import { type Column, Table } from './table.tsx'
import { span, Time } from './time.tsx'
import { CopyButton } from './ui.tsx'

/** A gap shorter than this is none, in milliseconds. */
const GAP_MS = 1000

/** How an entry ended, in a sign and in words. */
function endingOf({ ending }: HistoryEntry): readonly [IconName, string] {
  switch (ending) {
    case null:
      return ['ring', t.detail.open]
    case 'threw':
      return ['cross', t.detail.endings.threw]
    case 'retry_later':
    case 'denied':
      return ['quarter', t.detail.endings[ending]]
    default:
      return ['check', t.detail.endings[ending]]
  }
}

/** Who it was, and in which process. */
function whoOf({ actor, node }: HistoryEntry): string {
  const who = t.detail.who[actor]
  return node === undefined ? who : `${who}, ${node}`
}

/** The gap before an entry: what was lost or waited for. */
function gapBefore(entry: HistoryEntry, before: HistoryEntry | undefined): string | undefined {
  if (before === undefined || entry.fence === before.fence) return undefined
  const from = before.endedAt ?? before.beganAt
  const ms = entry.beganAt - from
  if (before.endedAt === null) return t.detail.lost(before.node, span(ms))
  return ms >= GAP_MS ? t.detail.waited(span(ms)) : undefined
}

/** The phases. */
export function Timeline({ request }: { request: RequestDetail }) {
  const { history, recoveryPoint } = request
  if (history.length === 0) return <p class="soft">{t.detail.noHistory}</p>
  return (
    <ol class="timeline">
      {history.map((entry, index) => {
        const [sign, words] = endingOf(entry)
        const gap = gapBefore(entry, history[index - 1])
        const isLast = index === history.length - 1
        const isNow = isLast && request.finishedAt === null
        return (
          <>
            {gap !== undefined && <li class="gap">{gap}</li>}
            <li data-ending={entry.ending ?? 'open'} aria-current={isNow ? 'step' : undefined}>
              <span class="sign">
                <Icon name={sign} />
              </span>
              <span class="step">
                <strong>{entry.point}</strong>
                {entry.reached !== null && <> → {entry.reached}</>}
              </span>
              <span class="soft">
                {words} · {whoOf(entry)} · {t.detail.fence} {entry.fence} ·{' '}
                <Time at={entry.beganAt} />
                {entry.endedAt !== null && ` · ${span(entry.endedAt - entry.beganAt)}`}
                {isNow && recoveryPoint !== null && <b> · {t.detail.nowAt}</b>}
              </span>
            </li>
          </>
        )
      })}
    </ol>
  )
}

/** Who tried what, and how it went. */
export function Attempts({ history }: { history: readonly HistoryEntry[] }) {
  if (history.length === 0) return <p class="soft">{t.detail.noHistory}</p>
  const columns: readonly Column<HistoryEntry>[] = [
    [t.detail.fence, ({ fence }) => fence],
    [t.detail.actor, whoOf],
    [t.detail.point, ({ point, reached }) => (reached === null ? point : `${point} → ${reached}`)],
    [t.detail.outcome, (entry) => endingOf(entry)[1]],
    [t.detail.began, ({ beganAt }) => <Time at={beganAt} />],
    [
      t.detail.took,
      ({ beganAt, endedAt }) => (endedAt === null ? t.time.none : span(endedAt - beganAt)),
    ],
    [t.detail.error, ({ error }) => <ErrorText text={error} />],
  ]
  return <Table label={t.detail.attempts} items={history} columns={columns} />
}

/** The first line of an error; the rest on demand. */
export function ErrorText({ text }: { text: string | null }) {
  if (text === null) return <>{t.time.none}</>
  const [first = '', ...rest] = text.split('\n')
  if (rest.length === 0) {
    return (
      <span class="problem">
        <WithCodes text={first} />
      </span>
    )
  }
  return (
    <details>
      <summary class="problem">{first}</summary>
      <pre>
        <WithCodes text={text} />
      </pre>
    </details>
  )
}

/** Calls to others, with the key that they were made under. */
export function Calls({ history }: { history: readonly HistoryEntry[] }) {
  const calls = history.filter(({ callKey }) => callKey !== null)
  if (calls.length === 0) return <p class="soft">{t.detail.noCalls}</p>
  const columns: readonly Column<HistoryEntry>[] = [
    [t.detail.callKey, ({ callKey }) => <CallKey text={callKey ?? ''} />],
    [t.detail.point, ({ point }) => point],
    [t.detail.began, ({ beganAt }) => <Time at={beganAt} />],
    [t.detail.outcome, (entry) => endingOf(entry)[1]],
  ]
  return (
    <>
      <p class="soft">{t.detail.callsHint}</p>
      <Table label={t.detail.calls} items={calls} columns={columns} />
    </>
  )
}

/** The key of a foreign call, and where to look it up. */
function CallKey({ text }: { text: string }) {
  const { callUrl } = session.get()
  return (
    <>
      <code>{text}</code>
      <CopyButton text={text} label={`${t.detail.copyKey} ${text}`} />
      {callUrl !== null && (
        <a
          href={callUrl.replace('{callKey}', encodeURIComponent(text))}
          {...{ rel: 'noreferrer', target: '_blank' }}
        >
          {t.detail.lookUp}
        </a>
      )}
    </>
  )
}
