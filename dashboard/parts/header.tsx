/**
 * The bar above every page.
 *
 * @module
 */

import { type Connection, live } from '../live.ts'
import { type Prefs, prefs, type Refresh, type Theme, type TimeMode } from '../prefs.ts'
import { Link } from '../router.tsx'
import { LABEL, LABEL_COLOR, session } from '../session.ts'
import { useStore } from '../store.ts'
import { t } from '../strings.ts'
import { Icon, type IconName } from './icon.tsx'
import { Search } from './search.tsx'

const SIGNS: Readonly<Record<Connection, IconName>> = {
  ...{
    connecting: 'ring',
    live: 'dot',
    polling: 'half',
    stale: 'ring',
    down: 'cross',
    paused: 'pause',
  },
}

/** The bar above every page. */
export function Header({ onHelp }: { onHelp: () => void }) {
  const { user, readOnly } = useStore(session)
  return (
    <header class="top">
      <div class="brand">
        <Link to="">{t.brand}</Link>
        {LABEL !== '' && (
          <span class="label" data-color={LABEL_COLOR}>
            {LABEL}
          </span>
        )}
        {readOnly && <span class="label">{t.shell.readOnly}</span>}
      </div>
      <Search />
      <div class="tools">
        <Status />
        <Choice name="refresh" label={t.shell.refresh} options={REFRESHES} />
        <Choice name="time" label={t.shell.time} options={TIMES} />
        <Choice name="theme" label={t.shell.theme} options={THEMES} />
        <button type="button" title={user === '' ? '' : t.shell.signedIn(user)} onClick={onHelp}>
          {t.shell.help}
        </button>
      </div>
    </header>
  )
}

const REFRESHES: readonly (readonly [Refresh, string])[] = [
  ['live', t.live.live],
  ...(['2', '5', '15', '60'] as const).map((one) => [one, t.live.every(one)] as const),
  ['paused', t.live.paused],
]
const TIMES: readonly (readonly [TimeMode, string])[] = [
  ['relative', t.shell.relative],
  ['local', t.shell.local],
  ['utc', t.shell.utc],
]
const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', t.shell.system],
  ['light', t.shell.light],
  ['dark', t.shell.dark],
]

function Choice<Name extends 'refresh' | 'time' | 'theme'>({
  name,
  label,
  options,
}: {
  name: Name
  label: string
  options: readonly (readonly [Prefs[Name], string])[]
}) {
  const value = useStore(prefs)[name]
  const choose = (event: Event) => {
    const chosen = event.currentTarget instanceof HTMLSelectElement ? event.currentTarget.value : ''
    const option = options.find(([one]) => one === chosen)
    if (option !== undefined) prefs.update({ [name]: option[0] })
  }
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} name={name} onChange={choose}>
        {options.map(([one, words]) => (
          <option value={one}>{words}</option>
        ))}
      </select>
    </label>
  )
}

/** How the page hears of changes, at any moment. */
function Status() {
  const { connection, since, isHeld, held, problem } = useStore(live)
  const { refresh } = useStore(prefs)
  const at = new Date(since).toTimeString().slice(0, 8)
  const isPolled = connection === 'polling' && refresh !== 'live'
  const words = isPolled
    ? t.live.every(refresh)
    : connection === 'stale'
      ? t.live.stale(at)
      : t.live[connection]
  return (
    <span class="status" data-connection={connection} title={problem}>
      <Icon name={SIGNS[connection]} /> {words}
      {isHeld && connection !== 'paused' && <span class="held">{t.live.held(held)}</span>}
    </span>
  )
}
