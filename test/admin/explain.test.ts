import { describe, expect, it } from 'vitest'
import { explain, type Known } from '../../src/admin/explain.ts'
import { storyOf } from '../../src/admin/story.ts'
import type { DeskRow } from '../../src/engine/desk.ts'
import type { HistoryEntry } from '../../src/engine/letters.ts'
import { resolvePatience } from '../../src/phases/patience.ts'

const NOW = Date.UTC(2026, 10, 16, 12, 0, 0)

const ROW: DeskRow = {
  ...{ id: 'i', caller: 'c', operation: 'o', key: 'k', fingerprint: 'f', fence: 2, owner: 'w' },
  ...{ leaseUntil: null, recoveryPoint: 'charged', status: null, resource: null },
  origin: { requestId: 'r1', ip: null, userAgent: null },
  ...{ createdAt: NOW - 600_000, finishedAt: null, expiresAt: NOW + 86_400_000 },
  ...{ triedAt: NOW - 30_000, tries: 3, resumeAt: null, duplicates: 0, letter: null },
  ...{ state: 'stuck', now: NOW },
}

const CALL: HistoryEntry = {
  ...{ fence: 2, point: 'charged', actor: 'completer', ending: null, reached: null },
  ...{ callKey: 'reprise-x', error: null, beganAt: NOW - 29_000, endedAt: null },
}

function known(row: Partial<DeskRow>, more: Partial<Known> = {}): Known {
  return {
    ...{ row: { ...ROW, ...row }, history: [], notes: [], jobs: [], letter: undefined },
    ...{ patience: resolvePatience(), hasCompleter: true, isCompleterSilent: false },
    ...{ personAt: null, ...more },
  }
}

describe('why it is not finished', () => {
  it.each([
    [
      known({ state: 'running', leaseUntil: NOW + 20_000, recoveryPoint: null }),
      'The request has held the lease for 30 s. The lease lapses in 20 s unless it is renewed.',
    ],
    [
      known({ state: 'recovering', leaseUntil: NOW + 20_000 }, { history: [CALL] }),
      'The completer has held the lease for 30 s from charged. This is try 3 of 25. The lease lapses in 20 s unless it is renewed. The foreign call from charged was sent at 2026-11-16 11:59:31 UTC and has not been heard of.',
    ],
    [
      known({}),
      'Nobody works on it. It stopped at charged 30 s ago. The completer takes it up in 7 min, if it knows the operation; 22 tries left.',
    ],
    [
      known({ triedAt: NOW - 3_600_000, tries: 24 }),
      'Nobody works on it. It stopped at charged 60 min ago. The completer takes it up at its next run, if it knows the operation; 1 try left.',
    ],
    [
      known({}, { hasCompleter: false }),
      'Nobody works on it. It stopped at charged 30 s ago. The next request with this key resumes it.',
    ],
    [
      known({ resumeAt: NOW }),
      'Nobody works on it. It stopped at charged 30 s ago. An operator asked for it at 2026-11-16 12:00:00 UTC; the completer takes it up at its next run.',
    ],
    [
      known({ recoveryPoint: null }, { personAt: NOW + 240_000 }),
      'The run that held it stopped 30 s ago or later, without an answer. Nobody can say whether it took effect, so it is not repeated. The completer puts it before a person in 4 min; at once with: npx reprise worker --only completer --once --unknown-grace 0s',
    ],
    [
      known({ recoveryPoint: null }, { personAt: NOW - 1 }),
      'The run that held it stopped 30 s ago or later, without an answer. Nobody can say whether it took effect, so it is not repeated. The completer puts it before a person at its next run.',
    ],
    [
      known({ recoveryPoint: null }, { personAt: NOW, isCompleterSilent: true }),
      'The run that held it stopped 30 s ago or later, without an answer. Nobody can say whether it took effect, so it is not repeated. The completer would put it before a person, and none is running: npx reprise worker --only completer',
    ],
    [
      known({ recoveryPoint: null }, { hasCompleter: false }),
      'The run that held it stopped 30 s ago or later, without an answer. Nobody can say whether it took effect, so it is not repeated. No completer works on this store, so a person has to find out: release it, if it did not take effect.',
    ],
    [
      known({ state: 'failed', status: 402, finishedAt: NOW - 1000 }),
      'It was answered with 402 at 2026-11-16 11:59:59 UTC, after 2 attempts. The answer is given again until 2026-11-17 12:00:00 UTC.',
    ],
    [
      known({ state: 'expired', expiresAt: NOW - 1000 }),
      'Its retention ended at 2026-11-16 11:59:59 UTC. The next request with this key starts anew.',
    ],
    [
      known({ state: 'needs_person', letter: '7' }),
      'It is dead letter 7. A person has to settle it.',
    ],
  ])('%#', (given, text) => {
    expect(explain(given)).toBe(text)
  })
})

it('tells what happened, step by step', () => {
  const first: HistoryEntry = {
    ...{ fence: 1, point: 'started', actor: 'request', ending: 'advanced', reached: 'charged' },
    ...{ callKey: null, error: null, beganAt: NOW - 600_000, endedAt: NOW - 599_960 },
  }
  expect(storyOf(known({}, { history: [first, CALL] }))).toEqual([
    '2026-11-16 11:50:00 UTC It came as request r1.',
    '2026-11-16 11:50:00 UTC The request ran the phase from started in 40 ms, and got to charged.',
    '2026-11-16 11:59:31 UTC Taken up by the completer, 9 min later.',
    '2026-11-16 11:59:31 UTC The completer made the foreign call from charged, and nothing was heard of it.',
  ])
})
