/**
 * What is around every page, and which page is shown.
 *
 * @module
 */

import { useEffect, useState } from 'preact/hooks'
import type { RequestState } from '../src/admin/admin.ts'
import { dismiss, said } from './announce.ts'
import { ApiError, read } from './api.ts'
import { beginLive, live } from './live.ts'
import { AuditPage } from './pages/audit.tsx'
import { ConflictsPage } from './pages/conflicts.tsx'
import { DetailPage } from './pages/detail.tsx'
import { JobsPage } from './pages/jobs.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { PersonPage } from './pages/person.tsx'
import { RequestsPage } from './pages/requests.tsx'
import { WorkersPage } from './pages/workers.tsx'
import { Header } from './parts/header.tsx'
import { HelpDialog } from './parts/help.tsx'
import { Icon } from './parts/icon.tsx'
import { Heading, Problem } from './parts/ui.tsx'
import { Link, MOUNTED_AT, type Place, place } from './router.tsx'
import { type Session, session } from './session.ts'
import { useShortcuts } from './shortcuts.ts'
import { useStore } from './store.ts'
import { capped, t } from './strings.ts'

const NAV: readonly (readonly [string, string, RequestState?])[] = [
  ['', t.pages.overview],
  ['requests', t.pages.requests],
  ['person', t.pages.person, 'needs_person'],
  ['stuck', t.pages.stuck, 'stuck'],
  ['conflicts', t.pages.conflicts],
  ['jobs', t.pages.jobs],
  ['workers', t.pages.workers],
  ['audit', t.pages.audit],
]

/** The whole page. */
export function App() {
  const [problem, setProblem] = useState<ApiError>()
  const [isReady, setReady] = useState(false)
  const [isHelp, setHelp] = useState(false)
  const here = useStore(place)
  useShortcuts(() => setHelp(true))

  const begin = async () => {
    try {
      session.set(await read<Session>('hello'))
      setProblem(undefined)
      setReady(true)
      beginLive()
    } catch (error) {
      setProblem(error instanceof ApiError ? error : new ApiError(0, 'bug', String(error)))
    }
  }
  useEffect(() => void begin(), [])

  return (
    <>
      <a class="skip" href="#main">
        {t.shell.skip}
      </a>
      <Header onHelp={() => setHelp(true)} />
      <div class="frame">
        <Nav here={here} />
        <main id="main" tabIndex={-1}>
          {problem !== undefined && <Trouble error={problem} onRetry={() => void begin()} />}
          {isReady && <PageOf here={here} />}
        </main>
      </div>
      <Announcer />
      {isHelp && <HelpDialog onClose={() => setHelp(false)} />}
    </>
  )
}

/** The API is not where the page looks for it, or does not answer. */
function Trouble({ error, onRetry }: { error: ApiError; onRetry: () => void }) {
  const isLost = error.code === 'not_json' || error.status === 404
  if (!isLost) {
    return (
      <>
        <Heading>{t.brand}</Heading>
        <Problem error={error} onRetry={onRetry} />
      </>
    )
  }
  return (
    <>
      <Heading>{t.shell.wrongMountTitle}</Heading>
      <p class="notice bad" role="alert">
        {t.shell.wrongMount(MOUNTED_AT, location.pathname)}
      </p>
    </>
  )
}

function Nav({ here }: { here: Place }) {
  const { pulse } = useStore(live)
  return (
    <nav class="nav" aria-label={t.shell.main}>
      <ul>
        {NAV.map(([path, name, state]) => {
          const isHere = path === here.path.split('/')[0]
          const waiting = state === undefined ? 0 : (pulse?.states[state] ?? 0)
          return (
            <li>
              <Link to={path} aria-current={isHere ? 'page' : undefined}>
                <span>{name}</span>
                {waiting > 0 && (
                  <span class="count" data-state={state}>
                    {capped(waiting)}
                  </span>
                )}
              </Link>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}

function PageOf({ here }: { here: Place }) {
  const [first, second] = here.path.split('/')
  const { isScoped } = useStore(session)
  const page = () => {
    switch (first) {
      case '':
        return <OverviewPage query={here.query} />
      case 'requests':
        return second === undefined ? (
          <RequestsPage key="requests" page="requests" query={here.query} />
        ) : (
          <DetailPage key={second} id={decodeURIComponent(second)} />
        )
      case 'stuck':
        return <RequestsPage key="stuck" page="stuck" query={here.query} />
      case 'person':
        return <PersonPage query={here.query} />
      case 'conflicts':
        return <ConflictsPage query={here.query} />
      case 'jobs':
        return <JobsPage query={here.query} />
      case 'workers':
        return <WorkersPage />
      case 'audit':
        return <AuditPage query={here.query} />
      default:
        return <Heading>{t.shell.notFound}</Heading>
    }
  }
  return (
    <>
      {isScoped && <p class="notice">{t.shell.scoped}</p>}
      {page()}
    </>
  )
}

const SHOWN_MS = 8000

function Announcer() {
  const { number, text, isShown, isBad, undo } = useStore(said)
  useEffect(() => {
    if (!isShown) return
    const timer = setTimeout(dismiss, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [number, isShown])
  return (
    <div class={isShown ? `toast ${isBad ? 'bad' : ''}` : 'off'}>
      <span role="status" aria-live="polite">
        <span key={number}>{text}</span>
      </span>
      {isShown && undo !== undefined && (
        <button type="button" class="small" onClick={undo}>
          {t.workers.undo}
        </button>
      )}
      {isShown && (
        <button type="button" class="small" aria-label={t.actions.close} onClick={dismiss}>
          <Icon name="cross" />
        </button>
      )}
    </div>
  )
}
