/**
 * The same action on many requests. Which they are is settled when it is confirmed.
 *
 * @module
 */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Batch, RequestAction, RequestFilter } from '../../src/admin/admin.ts'
import { ApiError, newKey, order, read } from '../api.ts'
import { may } from '../session.ts'
import { capped, count, t } from '../strings.ts'
import { OrderDialog } from './order-form.tsx'
import { Dialog } from './ui.tsx'

const ACTIONS: readonly RequestAction[] = ['resume', 'release', 'expire']
/** How often progress is asked for, in milliseconds. */
const LOOK_MS = 1000

interface Parts {
  readonly selected: ReadonlySet<string>
  readonly filter: RequestFilter
  readonly total: number
  onClear(): void
  onDone(): void
}

/** What is shown while rows are selected. */
export function BulkBar({ selected, filter, total, onClear, onDone }: Parts) {
  const [isAll, setAll] = useState(false)
  const [action, setAction] = useState<RequestAction>()
  const number = isAll ? capped(total) : count(selected.size)
  return (
    <div class="bulk" role="region" aria-label={t.list.selected(selected.size)}>
      <strong>{isAll ? t.list.allChosen(number) : t.list.selected(selected.size)}</strong>
      <button type="button" class="small" onClick={() => setAll(!isAll)}>
        {isAll ? t.list.someOnly : t.list.allMatching(capped(total))}
      </button>
      {ACTIONS.filter(may).map((one) => (
        <button type="button" onClick={() => setAction(one)}>
          {t.actions.names[one]}
        </button>
      ))}
      <button type="button" class="small" onClick={onClear}>
        {t.list.clear}
      </button>
      {action !== undefined && (
        <BulkDialog
          {...{ action, number }}
          on={isAll ? { filter } : { ids: [...selected] }}
          onClose={(isStarted) => {
            setAction(undefined)
            if (isStarted) onDone()
          }}
        />
      )}
    </div>
  )
}

function BulkDialog({
  action,
  number,
  on,
  onClose,
}: {
  action: RequestAction
  number: string
  on: { readonly ids: readonly string[] } | { readonly filter: RequestFilter }
  onClose: (isStarted: boolean) => void
}) {
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState('')
  const [batch, setBatch] = useState<Batch>()
  const key = useRef(newKey())
  const expected = number.replace(/\D/g, '')
  const submit = async (event: Event) => {
    event.preventDefault()
    if (typed.replace(/\D/g, '') !== expected) return setProblem(t.actions.bulkConfirm(number))
    try {
      setBatch(
        await order<Batch>('batches', { action, reason, confirm: expected, ...on }, key.current),
      )
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error))
    }
  }
  if (batch !== undefined) {
    return (
      <Dialog title={t.actions.names[action]} onClose={() => onClose(true)}>
        <Progress first={batch} />
        <div class="buttons">
          <button type="button" class="main" onClick={() => onClose(true)}>
            {t.actions.close}
          </button>
        </div>
      </Dialog>
    )
  }
  return (
    <OrderDialog
      {...{ title: t.actions.bulk(t.actions.names[action], number), problem }}
      {...{ submit: t.actions.names[action], isDangerous: action !== 'resume' }}
      note={{ label: t.actions.reason, name: 'reason', text: reason }}
      {...{ onNote: setReason, onClose: () => onClose(false) }}
      onSubmit={(event) => void submit(event)}
    >
      <p>{t.actions.bulkHint}</p>
      {action !== 'resume' && <p class="notice warn">{t.actions.bulkDangerous}</p>}
      <label class="field">
        {t.actions.bulkConfirm(number)}
        <input
          {...{ name: 'count', value: typed, inputMode: 'numeric', autocomplete: 'off' }}
          required
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
    </OrderDialog>
  )
}

/** How far it has come; it goes on by itself. */
function Progress({ first }: { first: Batch }) {
  const [batch, setBatch] = useState(first)
  useEffect(() => {
    if (batch.isOver) return
    const look = () => read<Batch>(`batches/${batch.batch}`).then(setBatch, () => {})
    const timer = setInterval(() => void look(), LOOK_MS)
    return () => clearInterval(timer)
  }, [batch.isOver])
  const stop = () => order<Batch>(`batches/${batch.batch}/cancel`, {}, newKey()).then(setBatch)
  const over = batch.done + batch.failed
  const tally = new Map<string, number>()
  for (const { result } of batch.results) tally.set(result, (tally.get(result) ?? 0) + 1)
  return (
    <>
      <p role="status">
        {batch.isCancelled
          ? t.actions.batchCancelled
          : batch.isOver
            ? t.actions.batchOver
            : t.actions.batchRuns}
        : {t.actions.progress(over, batch.total)}
        {batch.failed > 0 && ` · ${t.actions.failed(batch.failed)}`}
      </p>
      <progress max={Math.max(1, batch.total)} value={over} aria-label={t.actions.results} />
      {!batch.isOver && (
        <p>
          {t.actions.background}{' '}
          <button type="button" class="small" onClick={() => void stop()}>
            {t.actions.stop}
          </button>
        </p>
      )}
      <details>
        <summary>{t.actions.results}</summary>
        <ul>
          {[...tally].map(([result, number]) => (
            <li>
              {result}: {count(number)}
            </li>
          ))}
        </ul>
        <ul class="results">
          {batch.results.slice(0, 200).map(({ id, result }) => (
            <li>
              <code>{id.slice(0, 12)}</code> {result}
            </li>
          ))}
        </ul>
      </details>
    </>
  )
}
