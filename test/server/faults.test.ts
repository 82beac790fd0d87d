import { mkdtempSync, rmSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FaultLog } from '../../examples/server/fault-log.ts'
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

  test('are noted for its key when they are carried out, and not when they are only asked for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reprise-faults-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const log = new FaultLog(join(folder, 'faults.jsonl'))
    expect(log.of('a')).toEqual([])
    const faults = new RequestFaults({ onCarriedOut: (key, fault) => log.note(key, fault) })
    const asked = plan('slow=1,provider-down,fail-after,crash=after-claim,cut-before')
    await faults.during(asked, () => faults.before(), 'a')
    expect(faults.during(asked, () => faults.isProviderDown(), 'a')).toBe(true)
    expect(() => faults.during(asked, () => faults.after(), '"b"')).toThrow('after its effect')
    expect(faults.isProviderDown()).toBe(false)
    expect([log.of('a'), log.of('"b"')]).toEqual([['slow=1', 'provider-down'], ['fail-after']])
  })

  test('cut an answer, and note it unless it only says to wait', () => {
    const noted: string[] = []
    const faults = new RequestFaults({
      onCarriedOut: (key, fault) => noted.push(`${key} ${fault}`),
    })
    const cut = (key: string, statusCode: number) => {
      const response = new ServerResponse(new IncomingMessage(new Socket()))
      response.statusCode = statusCode
      const socket = new Socket()
      faults.during(plan('cut-after'), () => faults.cutLater(response, socket), key)
      socket.write('an answer')
      return socket.destroyed
    }
    expect([cut('a', 201), cut('b', 409)]).toEqual([true, true])
    expect(noted).toEqual(['a cut-after'])
  })
})
