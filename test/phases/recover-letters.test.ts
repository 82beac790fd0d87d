import { describe, expect, it } from 'vitest'
import { usePhases } from './phases-world.ts'

const REQUEST = { caller: 'acct', operation: 'pay', key: 'k-1', fingerprints: ['f-1'] }

describe('a record that recover() can not tell about', () => {
  const world = usePhases()
  const open = async () => (await world.letters()).filter(({ settledAt }) => settledAt === null)

  it('lies before a person, however often clients ask again', async () => {
    const reprise = world.other({ afterCrash: async () => 'refuse' })
    const breaks = async () => {
      throw new Error('The process broke.')
    }
    await expect(reprise.run(REQUEST, breaks)).rejects.toThrow('broke')
    for (let asked = 0; asked < 3; asked++) {
      expect(await reprise.run(REQUEST, breaks)).toEqual({ outcome: 'unknown' })
      expect(await open()).toMatchObject([{ cause: 'outcome_unknown', key: 'k-1', point: null }])
    }

    expect(world.events.filter(({ type }) => type === 'dead_letter')).toMatchObject(
      Array.from({ length: 3 }, () => ({ operation: 'pay' })),
    )

    const [letter] = await open()
    expect(await world.settle(letter, 'happened', { status: 201, body: 'paid' })).toBe(true)
    expect(await reprise.run(REQUEST, breaks)).toMatchObject({ outcome: 'replayed' })
    expect(await open()).toEqual([])
  })
})
