/**
 * Settling what needs a person: exactly three outcomes, each with a note.
 *
 * @module
 */

import { useState } from 'preact/hooks'
import { t } from '../strings.ts'
import { OrderDialog, useOrder } from './order-form.tsx'

const WAYS = ['happened', 'resume', 'give_up'] as const
type Way = (typeof WAYS)[number]
const STATUSES: Readonly<Record<Way, string>> = { happened: '200', resume: '', give_up: '500' }

/** The dialog. */
export function SettleDialog({
  letter,
  onClose,
  onEnd,
}: {
  letter: string
  onClose: () => void
  onEnd: () => void
}) {
  const [way, setWay] = useState<Way>()
  const [status, setStatus] = useState('')
  const [body, setBody] = useState('{}')
  const [note, setNote] = useState('')
  const { send, problem, setProblem, isBusy } = useOrder(onEnd)
  const choose = (one: Way) => {
    setWay(one)
    setStatus(STATUSES[one])
  }
  const submit = (event: Event) => {
    event.preventDefault()
    if (way === undefined) return
    let answer: object = {}
    if (way !== 'resume') {
      try {
        answer = { status: Number(status), body: JSON.parse(body) }
      } catch {
        return setProblem(t.person.badJson)
      }
    }
    return void send(`letters/${encodeURIComponent(letter)}/settle`, {
      way,
      reason: note,
      ...answer,
    })
  }
  return (
    <OrderDialog
      {...{ title: t.person.title, submit: t.person.submit, problem, isBusy }}
      note={{ label: t.person.noteLabel, name: 'note', text: note }}
      {...{ onNote: setNote, onSubmit: submit, onClose }}
    >
      <fieldset class="ways">
        <legend class="off">{t.person.title}</legend>
        {WAYS.map((one) => (
          <label class="way">
            <input
              {...{ type: 'radio', name: 'way', value: one, required: true }}
              checked={way === one}
              onChange={() => choose(one)}
            />
            <span>
              <strong>{t.person.ways[one]}</strong>
              <span class="soft">{t.person.wayHints[one]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {way !== undefined && way !== 'resume' && (
        <>
          <label class="field">
            {t.person.status}
            <input
              {...{ name: 'status', value: status, inputMode: 'numeric', required: true }}
              pattern="[2-5]\d\d"
              onInput={(event) => setStatus(event.currentTarget.value)}
            />
          </label>
          <label class="field">
            {t.person.body}
            <textarea
              {...{ name: 'body', rows: 4, spellcheck: false }}
              value={body}
              onInput={(event) => setBody(event.currentTarget.value)}
            />
          </label>
        </>
      )}
    </OrderDialog>
  )
}
