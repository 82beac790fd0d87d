/**
 * Acting on one request: asks why, and where it can lead to a second effect, whether it is meant.
 *
 * @module
 */

import { useState } from 'preact/hooks'
import type { Possibility, RequestDetail } from '../../src/admin/admin.ts'
import { may, session } from '../session.ts'
import { useStore } from '../store.ts'
import { t } from '../strings.ts'
import { Icon } from './icon.tsx'
import { OrderDialog, useOrder } from './order-form.tsx'

const CONFIRM_LENGTH = 4

/** The buttons for what can be done with a request; each says why not. */
export function ActionButtons({ request, onEnd }: { request: RequestDetail; onEnd: () => void }) {
  const [open, setOpen] = useState<Possibility>()
  const { readOnly } = useStore(session)
  const close = () => setOpen(undefined)
  if (readOnly) return <p class="soft">{t.actions.readOnly}</p>
  return (
    <>
      <ul class="actions">
        {request.possibilities.map((possible) => {
          const { action, isAllowed, isDangerous } = possible
          const mayDo = may(action)
          const reason = mayDo ? possible.reason : t.actions.mayNot
          const isOff = !isAllowed || !mayDo
          return (
            <li>
              <button
                type="button"
                class={isDangerous ? 'danger' : 'main'}
                data-action={action}
                aria-disabled={isOff}
                aria-describedby={`why-${action}`}
                title={reason}
                onClick={() => !isOff && setOpen(possible)}
              >
                {t.actions.names[action]}
              </button>
              <span id={`why-${action}`} class="soft">
                {reason}
              </span>
            </li>
          )
        })}
      </ul>
      {open !== undefined && (
        <ActionDialog
          {...{ request, possible: open, onClose: close }}
          onEnd={() => {
            close()
            onEnd()
          }}
        />
      )}
    </>
  )
}

function ActionDialog({
  request,
  possible,
  onClose,
  onEnd,
}: {
  request: RequestDetail
  possible: Possibility
  onClose: () => void
  onEnd: () => void
}) {
  const { action, isDangerous } = possible
  const [reason, setReason] = useState('')
  const [confirm, setConfirm] = useState('')
  const { send, problem, setProblem, isBusy } = useOrder(onEnd)
  const submit = (event: Event) => {
    event.preventDefault()
    if (reason.trim() === '') return setProblem(t.actions.needReason)
    const body = { reason, version: request.version, ...(isDangerous ? { confirm } : {}) }
    return void send(`requests/${encodeURIComponent(request.id)}/${action}`, body)
  }
  return (
    <OrderDialog
      {...{ title: t.actions.names[action], submit: t.actions.names[action], problem, isDangerous }}
      note={{ label: t.actions.reason, name: 'reason', text: reason }}
      {...{ isBusy, onNote: setReason, onSubmit: submit, onClose }}
    >
      {isDangerous && (
        <p class="notice warn">
          <strong>
            <Icon name="warn" /> {t.actions.dangerous}
          </strong>
        </p>
      )}
      <p>{possible.reason}</p>
      {isDangerous && (
        <label class="field">
          {t.actions.confirmKey} (<code>…{request.key.slice(-CONFIRM_LENGTH)}</code>)
          <input
            {...{ name: 'confirm', value: confirm, autocomplete: 'off', required: true }}
            onInput={(event) => setConfirm(event.currentTarget.value)}
          />
        </label>
      )}
    </OrderDialog>
  )
}
