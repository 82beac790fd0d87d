import { describe, expect, it } from 'vitest'
import {
  type Effect,
  type Ending,
  judge,
  type ResponsePolicyName,
  responsePolicies,
  type Verdict,
} from '../../src/core/policy.ts'

type Row = Readonly<Record<Effect, Verdict>>

const STORE: Row = { none: 'store', unknown: 'store', begun: 'store' }
const REFUSED: Row = { none: 'forget', unknown: 'forget', begun: 'store' }
const FAILED: Row = { none: 'forget', unknown: 'suspend', begun: 'suspend' }
const FREED_IF_NONE: Row = { none: 'forget', unknown: 'store', begun: 'store' }

type Kind = 'interim' | 'success' | 'final' | 'not taken on' | 'failure' | 'throw'

/** The table, written out; `Kind` by status is below. */
const TABLE: Readonly<Record<ResponsePolicyName, Readonly<Record<Kind, Row>>>> = {
  default: {
    interim: FAILED,
    success: STORE,
    final: STORE,
    'not taken on': REFUSED,
    failure: FAILED,
    throw: FAILED,
  },
  'no-5xx': {
    interim: FAILED,
    success: STORE,
    final: STORE,
    'not taken on': REFUSED,
    failure: FAILED,
    throw: FAILED,
  },
  stripe: {
    interim: FAILED,
    success: STORE,
    final: STORE,
    'not taken on': REFUSED,
    failure: STORE,
    throw: STORE,
  },
  'success-only': {
    interim: FAILED,
    success: STORE,
    final: FREED_IF_NONE,
    'not taken on': REFUSED,
    failure: FAILED,
    throw: FAILED,
  },
}

const NOT_TAKEN_ON =
  '400 401 403 405 406 407 411 413 414 415 416 417 421 425 426 428 429 431'.split(' ')

function kindOf(status: number): Kind {
  if (NOT_TAKEN_ON.includes(String(status))) return 'not taken on'
  if (status === 408) return 'failure'
  const byHundred: readonly Kind[] = ['interim', 'success', 'success', 'final', 'failure']
  return byHundred[Math.floor(status / 100) - 1] ?? 'interim'
}

const EFFECTS: readonly Effect[] = ['none', 'begun', 'unknown']
const STATUSES = Array.from({ length: 500 }, (_, index) => index + 100)
// Object.keys forgets the names that the type of the table has.
const NAMES = Object.keys(TABLE) as ResponsePolicyName[]
const THROWN: Ending = { thrown: new Error('broke') }

function answered(status: number): Ending {
  return { status, headers: [], body: new Uint8Array() }
}

describe('response policies', () => {
  it('are those of the table', () => {
    expect(Object.keys(responsePolicies).sort()).toEqual([...NAMES].sort())
  })

  for (const name of NAMES) {
    it(`${name}: every status, with every effect, has the verdict of the table`, () => {
      const actual = STATUSES.map((status) => [
        status,
        ...EFFECTS.map((effect) => responsePolicies[name](answered(status), effect)),
      ])
      const expected = STATUSES.map((status) => [
        status,
        ...EFFECTS.map((effect) => TABLE[name][kindOf(status)][effect]),
      ])

      expect(actual).toEqual(expected)
    })

    it(`${name}: a throw has the verdict of the table`, () => {
      const verdicts = EFFECTS.map((effect) => responsePolicies[name](THROWN, effect))

      expect(verdicts).toEqual(EFFECTS.map((effect) => TABLE[name].throw[effect]))
    })

    it(`${name}: a status that does not exist never frees a key that may have had an effect`, () => {
      for (const status of [0, -1, 99, 600, 999, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(responsePolicies[name](answered(status), 'unknown')).toBe('suspend')
        expect(responsePolicies[name](answered(status), 'begun')).toBe('suspend')
      }
    })

    it(`${name}: a key is never freed after a begun effect`, () => {
      const verdicts = [THROWN, ...STATUSES.map(answered)].map((ending) =>
        responsePolicies[name](ending, 'begun'),
      )

      expect(verdicts).not.toContain('forget')
    })
  }

  it('by default never store a 5xx', () => {
    const failures = STATUSES.filter((status) => status >= 500)
    for (const effect of EFFECTS) {
      const verdicts = failures.map((status) => responsePolicies.default(answered(status), effect))
      expect(verdicts).not.toContain('store')
    }
  })
})

describe('judge', () => {
  it('follows a policy of the user', () => {
    expect(judge(() => 'forget', answered(200), 'unknown')).toBe('forget')
    expect(judge(() => 'store', answered(500), 'begun')).toBe('store')
    expect(judge(() => 'suspend', answered(200), 'none')).toBe('suspend')
  })

  it('hands the ending and the effect on', () => {
    const seen: unknown[] = []
    judge((...given) => (seen.push(...given), 'store'), THROWN, 'none')

    expect(seen).toEqual([THROWN, 'none'])
  })

  it('suspends where a policy would free the key after a begun effect', () => {
    expect(judge(() => 'forget', answered(500), 'begun')).toBe('suspend')
    expect(judge(() => 'forget', THROWN, 'begun')).toBe('suspend')
  })
})
