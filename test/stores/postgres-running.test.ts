import { describe, expect, it } from 'vitest'
import { Running } from '../../src/stores/postgres/running.ts'

const asking = (id: string, ...fingerprintsAccepted: string[]) => ({ id, fingerprintsAccepted })

describe('the open transactions of a process', () => {
  it('refuse a request under their key: another one as a mismatch, the same as in progress', () => {
    const running = new Running()
    expect(running.refusal(asking('a', 'f'))).toBeUndefined()
    running.open('a', 'f')
    expect(running.refusal(asking('a', 'e', 'f'))).toMatchObject({ outcome: 'in_progress' })
    expect(running.refusal(asking('a', 'e'))).toEqual({ outcome: 'mismatch' })
    expect(running.refusal(asking('b', 'f'))).toBeUndefined()
    running.close('a')
    expect(running.refusal(asking('a', 'f'))).toBeUndefined()
  })

  it('are shared by the stores on one client and one schema, and by no others', () => {
    const [client, other] = [{}, {}]
    const running = Running.of(client, 'reprise')
    expect(Running.of(client, 'reprise')).toBe(running)
    expect(Running.of(client, 'second')).not.toBe(running)
    expect(Running.of(client, 'second')).toBe(Running.of(client, 'second'))
    expect(Running.of(other, 'reprise')).not.toBe(running)
  })

  it('are asked about one after the other under one key, also after a failure', async () => {
    const running = new Running()
    const log: string[] = []
    const asked = (name: string, end?: Error) => async () => {
      log.push(`${name} begins`)
      await Promise.resolve()
      log.push(`${name} ends`)
      if (end !== undefined) throw end
      return name
    }
    const ends = await Promise.allSettled([
      running.inTurn('a', asked('first', new Error('no'))),
      running.inTurn('a', asked('second')),
      running.inTurn('a', asked('third')),
    ])
    expect(log).toEqual(
      ['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    )
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(await running.inTurn('a', asked('fourth'))).toBe('fourth')
  })
})
