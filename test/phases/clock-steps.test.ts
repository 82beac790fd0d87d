/** The clock of the database steps, and what was written before the step still counts. */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { advance, foreignCall, operation, phase, respond } from '../../src/phases/index.ts'
import { anything, request, seen, usePhases } from './phases-world.ts'

const MINUTE_MS = 60_000

describe('a clock of the database that steps', () => {
  // A function of this schema stands in for the server's own clock.
  const world = usePhases(6, { options: '-c search_path=stepped,public,pg_catalog' })

  beforeAll(() =>
    world.pool.query(`
      create schema stepped;
      create table stepped.step (ms double precision not null);
      insert into stepped.step values (0);
      create function stepped.clock_timestamp() returns timestamptz language sql volatile as
      $$ select pg_catalog.clock_timestamp() + s.ms * interval '1 millisecond' from stepped.step s $$`),
  )
  beforeEach(() => stepBy(0))

  async function stepBy(ms: number): Promise<void> {
    await world.pool.query('update stepped.step set ms = $1', [ms])
  }

  function paying({ made, stepMs }: { made: string[]; stepMs: number }) {
    let isFirst = true
    return operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => {
          await stepBy(stepMs)
          return advance('ordered')
        }),
        ordered: foreignCall({
          repeat: 'never',
          call: async ({ key }): Promise<string> => {
            made.push(key)
            return 'ch'
          },
          done: async () => {
            if (!isFirst) return respond(201)
            isFirst = false
            throw new Error('The process is about to die.')
          },
        }),
      },
    )
  }

  it.each([-5000, -10 * MINUTE_MS, 50, MINUTE_MS])(
    'by %d ms in a phase has no call made twice that must not be',
    async (stepMs) => {
      const made: string[] = []
      const op = paying({ made, stepMs })
      await expect(op.run(request('k'))).rejects.toThrow('about to die')
      expect(seen(await op.run(request('k')))).toEqual(['unknown'])
      expect(made).toHaveLength(1)
      const [letter] = await world.letters()
      // Everything that was tried is before the person, with the call that is open.
      expect(letter?.history.map(({ point, callKey }) => [point, callKey])).toEqual([
        ['started', null],
        ['ordered', made[0]],
        ['ordered', null],
      ])
    },
  )

  it('back before a person says that the call did not happen has it made again', async () => {
    const made: string[] = []
    const op = paying({ made, stepMs: 0 })
    await expect(op.run(request('k'))).rejects.toThrow('about to die')
    await stepBy(-10 * MINUTE_MS)
    await world.lapse()
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    const [letter] = await world.letters()
    expect(await world.settle(letter, 'resume')).toBe(true)
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, ''])
    expect(made).toHaveLength(2)
  })
})
