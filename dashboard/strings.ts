/**
 * Every text of the page.
 *
 * @module
 */

import { COUNT_MAX, type RequestState } from '../src/admin/admin.ts'
import type { IconName } from './parts/icon.tsx'

const integers = new Intl.NumberFormat('en-GB', { useGrouping: true })
const percents = new Intl.NumberFormat('en-GB', { style: 'percent', maximumFractionDigits: 1 })

/** A whole number; thousands are set apart by a narrow space. */
export function count(value: number): string {
  return integers.format(value).replaceAll(',', '\u202f')
}

/** A count that stops somewhere. */
export function capped(value: number): string {
  return value >= COUNT_MAX ? `${count(COUNT_MAX)}+` : count(value)
}

export function percent(rate: number): string {
  return percents.format(rate)
}

function many(number: number, one: string, more: string): string {
  return `${count(number)} ${number === 1 ? one : more}`
}

/** State, its sign (a shape of its own for each) and what it means. */
export const STATES: Readonly<Record<RequestState, readonly [string, IconName, string]>> = {
  running: ['Running', 'play', 'The request that began it is at work.'],
  recovering: ['Recovering', 'loop', 'The completer is at work on it.'],
  unfinished: ['Unfinished', 'quarter', 'Nobody is at work on it yet; inside the grace period.'],
  stuck: ['Stuck', 'pause', 'Nobody has finished it, and the grace period is over.'],
  finished: ['Finished', 'check', 'The answer is stored and replays.'],
  failed: ['Failed', 'cross', 'The answer is an error; it is stored and replays.'],
  needs_person: [
    'Needs a person',
    'flag',
    'Nobody can say what happened, or it was tried too often.',
  ],
  expired: ['Expired', 'glass', 'Past its retention; the next request starts anew.'],
}

export const t = {
  brand: 'Reprise',
  title: (page: string, label: string) =>
    [page, label, 'reprise'].filter((part) => part !== '').join(' · '),
  pages: {
    ...{ overview: 'Overview', requests: 'Requests', person: 'Needs a person', stuck: 'Stuck' },
    ...{ conflicts: 'Conflicts', jobs: 'Staged jobs', workers: 'Workers', audit: 'Audit' },
  },
  shell: {
    ...{ skip: 'Skip to content', main: 'Main', search: 'Find a key or filter', go: 'Search' },
    ...{ theme: 'Theme', system: 'System', light: 'Light', dark: 'Dark', help: 'Help' },
    ...{ time: 'Time', relative: 'Relative', local: 'Local', utc: 'UTC', refresh: 'Updates' },
    ...{
      view: 'Display',
      readOnly: 'Read-only',
      signedIn: (user: string) => `Signed in as ${user}`,
    },
    notFound: 'There is no such page.',
    wrongMount: (mounted: string, sees: string) =>
      `The dashboard is mounted at ${mounted}, the browser sees ${sees}, and its API is not found there. Set the option basePath to the path that the browser sees, or have the proxy send X-Forwarded-Prefix.`,
    wrongMountTitle: 'The dashboard can not find its own API',
    signIn: 'You are signed out. Load the page again to sign in.',
    scoped: 'You see the requests of some callers only; sums over all callers are not shown.',
  },
  live: {
    ...{ live: 'Live', connecting: 'Connecting', polling: 'Polling every 5 s', paused: 'Paused' },
    ...{ down: 'Store down', every: (seconds: string) => `Every ${seconds} s` },
    stale: (time: string) => `Stale since ${time}`,
    held: (held: number) => (held > 0 ? `Updates paused — ${held} new` : 'Updates paused'),
    newStuck: (more: number) => many(more, 'new stuck request', 'new stuck requests'),
    newPerson: (more: number) =>
      `${many(more, 'more request needs', 'more requests need')} a person`,
  },
  time: {
    ago: (span: string) => `${span} ago`,
    in: (span: string) => `in ${span}`,
    now: 'just now',
    none: '–',
  },
  error: {
    ...{ timedOut: 'That took too long', down: 'The store does not answer', other: 'Not possible' },
    timedOutHint: 'Narrow the filter, which stays as it is, and try again.',
    again: 'Try again',
    countdown: (seconds: number) => `Trying again in ${seconds} s.`,
  },
  empty: {
    neverTitle: 'Nothing has been recorded yet',
    never:
      'Send a request with a key to a protected route, twice. The second gets the first answer.',
    neverOpen: (url: string) => `Then look here: ${url}`,
    noMatch: 'Nothing matches these filters',
    clear: 'Clear filters',
    beyond: 'This page is beyond the end',
    first: 'To the first page',
    none: 'There is nothing here.',
  },
  overview: {
    ...{ window: 'Window', table: 'View as table', chart: 'View as chart' },
    windows: {
      ...{ '15m': 'Last 15 min', '1h': 'Last hour', '24h': 'Last 24 h', '7d': 'Last 7 days' },
    },
    ...{ checked: 'Checked', hit: 'Replayed (hit)', miss: 'First runs (miss)' },
    ...{ prevented: 'Duplicates prevented', rate: 'Hit rate', conflict: 'In progress' },
    ...{ mismatch: 'Mismatch', hour: 'Hour', breakdown: 'Who repeats itself' },
    since: 'Counted in whole hours, since',
    lines: (hours: number) => `The lines show the last ${hours} hours, hour by hour.`,
    sum: (...parts: readonly number[]) => {
      const [checked = 0, miss = 0, hit = 0, conflict = 0, mismatch = 0] = parts
      return `${count(checked)} checked = ${count(miss)} first runs + ${count(hit)} replayed + ${count(conflict)} in progress + ${count(mismatch)} mismatches`
    },
    traffic: 'Requests with a key, by the hour',
    investigate: 'Investigate',
    investigateText: (rate: string) =>
      `${rate} of requests are repeats. A client repeats itself, or its keys are not unique.`,
    seeWho: 'See who',
    ...{ byOperation: 'By operation', byCaller: 'By caller', operation: 'Operation' },
    ...{ caller: 'Caller', requests: 'Checked', share: 'Hit rate' },
    attention: 'Needs attention',
    nothing: 'Nothing needs you',
    checkedAt: 'Last check',
    query: (name: string) => `Metric ${name}`,
    mostHits: 'Sorted by replays.',
    notCounted: 'Not recorded.',
    notCountedHint:
      'Requests are here, and nobody counts them: the numbers of this page are zero for that reason. Give the engine',
    countedBy: 'onEvent: keepStats(store).onEvent',
    countedFrom: 'of reprise/telemetry.',
  },
  workers: {
    ...{ worker: 'Worker', state: 'State', lastRun: 'Last run', done: 'Items', backlog: 'Backlog' },
    ...{ error: 'Error', node: 'Node', took: 'Took', actions: 'Actions' },
    ...{ pause: 'Pause', resume: 'Resume', run_once: 'Run once', undo: 'Undo' },
    silent: (worker: string) => `No ${worker} running`,
    ...{ paused: 'Paused', works: 'Working', never: 'never' },
    idle: 'Not running; nothing waits for it',
    about: {
      enqueuer: 'Hands staged jobs to the queue after the commit.',
      completer: 'Finishes what a crash or a lost client left unfinished.',
      reaper: 'Removes what is past its retention.',
    },
    ms: (ms: number) => `${count(Math.round(ms))} ms`,
  },
  list: {
    ...{
      key: 'Key',
      operation: 'Operation',
      caller: 'Caller',
      state: 'State',
      point: 'Recovery point',
    },
    ...{ attempts: 'Attempts', duplicates: 'Duplicates', age: 'Age', active: 'Last activity' },
    ...{ status: 'Status', select: 'Select', columns: 'Columns', all: 'All', next: 'Next page' },
    ...{ first: 'First page', selectAll: 'Select all on this page', filter: 'Filter' },
    states: 'States',
    selectRow: (key: string) => `Select ${key}`,
    showNew: (fresh: number) => `Show ${many(fresh, 'new', 'new')}`,
    showChanged: 'The list has changed: show it',
    caption: (page: string) => `${page}, newest first`,
    selected: (selected: number) => `${count(selected)} selected`,
    allMatching: (total: string) => `Act on all ${total} matching instead`,
    someOnly: 'Act on the selected only',
    allChosen: (total: string) => `All ${total} matching`,
    clear: 'Clear selection',
    presets: 'Presets',
    mostReplayed: 'Most repeated',
    olderThanHour: 'Older than an hour',
    export: 'Export this page as JSON',
  },
  filter: {
    title: 'How to filter',
    intro: 'Paste a whole key to open it. Or join conditions with a space; all have to hold:',
    ...{ field: 'Field', meaning: 'Meaning', example: 'Example' },
    unknown: (name: string, known: string) => `There is no field ${name}. There are: ${known}.`,
    noField: (word: string) =>
      `${word} is no key that is known here. Write field:value, or a whole key.`,
    badValue: (name: string, value: string, what: string) =>
      `${name} can not be ${value}: ${what}.`,
    methodAlone: 'method: needs route: beside it',
    help: 'Filter help',
    remove: (chip: string) => `Remove ${chip}`,
  },
  detail: {
    ...{ created: 'Created', expires: 'Expires', expired: 'expired', copyKey: 'Copy key' },
    ...{
      copyCurl: 'Copy as curl',
      copied: 'Copied',
      copyStory: 'Copy the story',
      why: 'What is going on',
    },
    ...{ finished: 'Finished', fingerprint: 'Fingerprint', requestId: 'Request id', ip: 'Address' },
    ...{
      userAgent: 'User agent',
      resource: 'Made',
      lease: 'Lease',
      trace: 'Trace',
      facts: 'Facts',
    },
    ...{ timeline: 'Phases', attempts: 'Attempts', duplicates: 'Duplicates', jobs: 'Staged jobs' },
    ...{
      calls: 'Foreign calls',
      payload: 'Input, state and answer',
      story: 'Story',
      actions: 'Actions',
    },
    leaseHeld: (owner: string) => `held by ${owner}`,
    leaseFree: 'held by nobody',
    who: { request: 'Client’s request', completer: 'Completer' },
    endings: {
      ...{ advanced: 'Committed', responded: 'Answered', threw: 'Threw', settled: 'Settled' },
      ...{ retry_later: 'Put off', denied: 'Not known to the provider' },
    },
    ...{ open: 'Lost or under way', point: 'From', reached: 'To', began: 'Began', took: 'Took' },
    ...{
      actor: 'Who',
      outcome: 'Outcome',
      error: 'Error',
      fence: 'Attempt',
      callKey: 'Derived key',
    },
    ...{ stack: 'Whole error', when: 'When', result: 'Result', client: 'Client' },
    lost: (node: string | undefined, span: string) =>
      `process ${node === undefined ? '' : `${node} `}lost, ${span} until the next attempt`,
    waited: (span: string) => `${span} until the next attempt`,
    nowAt: 'now here',
    noHistory: 'No phases: the handler runs in one piece, and its attempts are only counted.',
    noDuplicates: 'No duplicate was noted. The app notes them with keepDuplicates(store).',
    digest: 'Caller’s digest',
    noJobs: 'No job was staged by this request, or all are handed over.',
    noCalls: 'No foreign call was made.',
    callsHint: 'Look up the derived key at the provider to see whether the call took effect.',
    lookUp: 'Look up',
    noted: (shown: number, all: number) => `${count(shown)} noted of ${count(all)}.`,
    ...{
      reveal: 'Reveal',
      revealHint: 'Hidden until you ask; that you looked is written to the audit.',
    },
    mayNotReveal: 'You may not see payloads (payload.read).',
    ...{
      input: 'Input',
      state: 'State between phases',
      response: 'Answer',
      nothing: 'nothing stored',
    },
    mismatch: 'Same key, another request',
    mismatchHint:
      'A request with this key said something else and was refused. Values are never kept, only their digests:',
    ...{ firstPrint: 'First request', otherPrint: 'Refused request' },
    needsPerson: 'This request needs a person.',
    outcomeUnknown: 'The outcome of this request is unknown.',
    comesBefore:
      'A run stopped without an answer, and nothing is repeated. It comes before a person',
    settle: 'Settle it',
  },
  actions: {
    names: {
      ...{ resume: 'Resume now', release: 'Release the lease', expire: 'Expire the key' },
    },
    ...{
      reason: 'Reason, for the audit',
      cancel: 'Cancel',
      confirmKey: 'Last 4 characters of the key',
    },
    dangerous: 'This can lead to a second effect.',
    done: (text: string) => text,
    repeated: (text: string) => `Already done: ${text}`,
    conflict: (text: string) => `It changed in the meantime. ${text}`,
    notFound: 'It is not there any more.',
    mayNot: 'You may not do this.',
    readOnly: 'This dashboard is read-only.',
    needReason: 'Say why, in a few words.',
    bulk: (action: string, total: string) => `${action}: ${total} requests`,
    bulkConfirm: (total: string) => `To confirm, type ${total}`,
    bulkHint: 'Which requests these are is settled now; what arrives later is not touched.',
    bulkDangerous: 'This can lead to a second effect for each of them.',
    progress: (done: number, total: number) => `${count(done)} of ${count(total)}`,
    ...{ batchOver: 'Over', batchRuns: 'At work', batchCancelled: 'Cancelled', stop: 'Stop' },
    ...{ close: 'Close', results: 'Results' },
    background: 'It goes on if you leave this page.',
    failed: (failed: number) => `${count(failed)} could not be done`,
  },
  person: {
    ...{
      cause: 'Why',
      point: 'Where',
      tries: 'Tries',
      since: 'Since',
      settle: 'Settle',
      letter: 'Letter',
    },
    ...{ open: 'Open', settled: 'Settled', way: 'Settled as', author: 'By', note: 'Note' },
    causes: {
      ...{ outcome_unknown: 'Outcome unknown', attempts_exhausted: 'Tried too often' },
      ...{ graph_changed: 'Phases have changed', abandoned: 'Left behind' },
    },
    ways: {
      happened: 'It happened — record this response',
      resume: 'It did not happen — resume',
      give_up: 'Give up — return this error',
      withdrawn: 'Taken up by a later request',
    },
    wayHints: {
      happened: 'Later requests with this key get this response. Nothing runs.',
      resume: 'The completer goes on from where it stopped.',
      give_up: 'Later requests with this key get this error. Nothing runs.',
    },
    title: 'What became of it?',
    ...{ status: 'Status', body: 'Body (JSON)', noteLabel: 'Note, for the audit' },
    badJson: 'The body is not JSON.',
    submit: 'Settle',
    coming: 'Outcome unknown, on their way here',
    comingHint:
      'Runs that stopped without an answer. The completer puts them before a person once clients have had time to ask again; at once with',
    when: 'Comes here',
    nothing: 'No request needs a person',
  },
  conflicts: {
    ...{ all: 'All', replayed: 'Replayed', in_progress: 'In progress', mismatch: 'Mismatch' },
    ...{ unknown: 'Outcome unknown', request: 'Request', print: 'Fingerprint' },
    results: 'Results',
  },
  jobs: {
    ...{ job: 'Job', name: 'Name', staged: 'Staged', runAt: 'Due', retry: 'Retry', all: 'All' },
    states: { waiting: 'Waiting', later: 'Later', set_aside: 'Set aside' },
    signs: { waiting: 'quarter', later: 'glass', set_aside: 'cross' },
    request: 'Request',
    tabs: 'States',
  },
  audit: {
    ...{
      at: 'When',
      author: 'Who',
      action: 'What',
      subject: 'On',
      note: 'Reason',
      result: 'Result',
    },
    ip: 'Address',
  },
  help: {
    title: 'Help',
    shortcuts: 'Shortcuts',
    use: 'Use shortcuts of a single letter',
    ...{ keys: 'Keys', what: 'What', close: 'Close' },
    rows: [
      ['/', 'To the search'],
      ['g o', 'Go to Overview'],
      ['g r', 'Go to Requests'],
      ['g d', 'Go to Needs a person'],
      ['g s', 'Go to Stuck'],
      ['j, k', 'Next row, row before'],
      ['x', 'Select the row'],
      ['Enter', 'Open the row'],
      ['r', 'Resume the request that is open'],
      ['p', 'Pause updates, or go on'],
      ['t', 'Next theme'],
      ['?', 'This help'],
      ['Esc', 'Close what is open'],
    ],
    words: 'What the states mean',
  },
} as const
