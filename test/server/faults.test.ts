import { describe, expect, test } from 'vitest'
import { CRASH_POINTS, parseFaults, RequestFaults } from '../../examples/server/faults.ts'

describe('the header Demo-Fault', () => {
  test('asks for one fault, or for several', () => {
    expect(parseFaults('slow=250')).toMatchObject({ slowMs: 250, failsBefore: false })
    expect(parseFaults('fail-before , fail-after')).toMatchObject({
      failsBefore: true,
      failsAfter: true,
    })
    expect(parseFaults('slow=1,crash=after-claim,crash=before-charge')).toMatchObject({
      slowMs: 1,
      crashes: new Set(['after-claim', 'before-charge']),
    })
  })

  test.each(['', 'slow', 'slow=', 'slow=-1', 'slow=1s', 'slow=700000', 'slow=1=2', 'crash'])(
    'does not take %j, and says what there is',
    (header) => {
      expect(parseFaults(header)).toEqual({ problem: expect.stringContaining('fail-before') })
    },
  )

  test('does not take a point that does not exist, and names those that do', () => {
    const { problem } = Object(parseFaults('crash=nowhere'))
    expect(problem).toContain('"crash=nowhere"')
    for (const point of CRASH_POINTS) expect(problem).toContain(`crash=${point}`)
  })
})

describe('the faults of a request', () => {
  const plan = (header: string) => {
    const parsed = parseFaults(header)
    if ('problem' in parsed) throw new Error(parsed.problem)
    return parsed
  }

  test('are those of the request at hand, and of no other at the same time', async () => {
    const faults = new RequestFaults()
    const before = faults.during(plan('fail-before'), async () => {
      await Promise.resolve()
      return faults.before()
    })
    const after = faults.during(plan('fail-after'), async () => {
      await faults.before()
      return faults.after()
    })
    await faults.before()
    expect(() => faults.after()).not.toThrow()
    await expect(before).rejects.toThrow('before its effect')
    await expect(after).rejects.toThrow('after its effect')
  })
})
