/**
 * The search: a whole key opens its request, anything else filters the list of requests.
 *
 * @module
 */

import { useLayoutEffect, useState } from 'preact/hooks'
import type { RequestSummary } from '../../src/admin/admin.ts'
import { ApiError, read } from '../api.ts'
import { FIELDS, parseFilter } from '../filter.ts'
import { go, place, withQuery } from '../router.tsx'
import { useStore } from '../store.ts'
import { t } from '../strings.ts'
import { Dialog, TableFrame } from './ui.tsx'

/** The search field of the header. */
export function Search() {
  const { path, query } = useStore(place)
  const list = path === 'stuck' ? 'stuck' : 'requests'
  const inUrl = path === list ? (query.get('q') ?? '') : ''
  const [text, setText] = useState(inUrl)
  const [problem, setProblem] = useState('')
  const [isHelp, setHelp] = useState(false)
  // Before the page is painted: what is typed after that must stay.
  useLayoutEffect(() => {
    setText(inUrl)
    setProblem('')
  }, [inUrl, path])

  const search = async (event: Event) => {
    event.preventDefault()
    const parsed = parseFilter(text)
    if (parsed.problem !== undefined) return setProblem(parsed.problem)
    const key = parsed.word ?? (parsed.chips.length === 1 ? parsed.filter.key : undefined)
    if (key !== undefined && !key.endsWith('*')) {
      try {
        const found = await read<RequestSummary[]>(`keys?key=${encodeURIComponent(key)}`)
        const [only, ...others] = found
        if (only !== undefined && others.length === 0) return open(only.id)
        if (only !== undefined) return show(`key:"${key}"`)
      } catch (error) {
        return setProblem(error instanceof ApiError ? error.message : String(error))
      }
    }
    if (parsed.word !== undefined) return setProblem(t.filter.noField(parsed.word))
    show(text.trim())
  }
  const open = (id: string) => {
    setProblem('')
    go(`requests/${encodeURIComponent(id)}`)
  }
  const show = (q: string) => {
    setProblem('')
    go(withQuery(list, { q, state: path === list ? (query.get('state') ?? '') : '' }))
  }
  return (
    <form class="search" role="search" onSubmit={(event) => void search(event)}>
      <label class="off" for="search">
        {t.shell.search}
      </label>
      <input
        {...{ id: 'search', type: 'search', value: text, autocomplete: 'off', spellcheck: false }}
        {...{ placeholder: t.shell.search, list: 'fields' }}
        aria-invalid={problem !== ''}
        aria-describedby="search-problem"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <datalist id="fields">
        {FIELDS.map(([, , meaning, example]) => (
          <option value={example}>{meaning}</option>
        ))}
      </datalist>
      <button type="submit">{t.shell.go}</button>
      <button type="button" class="small" aria-label={t.filter.help} onClick={() => setHelp(true)}>
        <span aria-hidden="true">?</span>
      </button>
      <p id="search-problem" class="problem" role="alert">
        {problem}
      </p>
      {isHelp && <FilterHelp onClose={() => setHelp(false)} />}
    </form>
  )
}

function FilterHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t.filter.title} onClose={onClose}>
      <p>{t.filter.intro}</p>
      <TableFrame label={t.filter.title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.filter.field}</th>
              <th scope="col">{t.filter.meaning}</th>
              <th scope="col">{t.filter.example}</th>
            </tr>
          </thead>
          <tbody>
            {FIELDS.map(([name, others, meaning, example]) => (
              <tr>
                <th scope="row">{[name, ...others].join(', ')}</th>
                <td>{meaning}</td>
                <td>
                  <code>{example}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
      <div class="buttons">
        <button type="button" class="main" onClick={onClose}>
          {t.actions.close}
        </button>
      </div>
    </Dialog>
  )
}
