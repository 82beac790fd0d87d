import { describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/engine/clock.ts'
import { resolveWorkers } from '../../src/workers/options.ts'

const DAY_MS = 86_400_000

describe('the settings of workers', () => {
  it('are what the documentation says where nothing is given', () => {
    const { node, ...settings } = resolveWorkers({}, systemRandom)
    expect(settings).toEqual({
      ...{ operations: [], sink: undefined, onEvent: undefined, buriedMs: 30 * DAY_MS },
      enqueuer: {
        ...{ everyMs: 1000, batchMax: 100, timeoutMs: 30_000 },
        ...{ retryMs: 1000, retryMsMax: 600_000, attemptsMax: 25 },
      },
      completer: { everyMs: 10_000, concurrency: 4, unknownGraceMs: 300_000 },
      reaper: {
        ...{ everyMs: 3_600_000, batchMax: 1000, shareMax: 0.1, leaseMs: 60_000 },
        ...{ countsMs: 30 * DAY_MS, notesMs: 7 * DAY_MS },
      },
    })
    expect(node).toMatch(new RegExp(`:${process.pid}:.{6}$`))
  })

  it('are what is given, and each worker can be left out', () => {
    const enqueuer = {
      everyMs: 1,
      batchMax: 2,
      timeoutMs: 3,
      retryMs: 4,
      retryMsMax: 5,
      attemptsMax: 6,
    }
    const completer = { everyMs: 7, concurrency: 8, unknownGraceMs: 0 }
    const reaper = { everyMs: 9, batchMax: 10, shareMax: 1, leaseMs: 100, countsMs: 0, notesMs: 0 }
    const given = { node: 'n', enqueuer, completer, reaper }
    expect(resolveWorkers(given, systemRandom)).toMatchObject(given)
    const none = { enqueuer: false, completer: false, reaper: false } as const
    expect(resolveWorkers(none, systemRandom)).toMatchObject(none)
  })

  it.each([
    { enqueuer: { everyMs: 0 } },
    { enqueuer: { batchMax: 0 } },
    { enqueuer: { timeoutMs: 0 } },
    { enqueuer: { retryMs: 0 } },
    { enqueuer: { retryMsMax: 0 } },
    { enqueuer: { attemptsMax: 0 } },
    { completer: { everyMs: 0 } },
    { completer: { concurrency: 0 } },
    { completer: { unknownGraceMs: -1 } },
    { reaper: { everyMs: 0 } },
    { reaper: { batchMax: 0 } },
    { reaper: { shareMax: 0 } },
    { reaper: { shareMax: 1.1 } },
    { reaper: { leaseMs: 99 } },
    { reaper: { countsMs: -1 } },
    { reaper: { notesMs: -1 } },
  ])('are refused where they make no sense: %j', (given) => {
    expect(() => resolveWorkers(given, systemRandom)).toThrow(
      expect.objectContaining({ code: 'reprise-options-invalid' }),
    )
  })
})
