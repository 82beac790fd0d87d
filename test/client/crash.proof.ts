/**
 * SIGKILL at any moment: what the journal has, takes effect once; what it has not, was never sent.
 *
 * @module
 */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Chance } from '../engine/chance.ts'
import { type Child, useProgram } from '../support/children.ts'
import type { CrashMessage, CrashTask } from './crash-program.ts'
import { type Ledger, startLedger } from './ledger.ts'

const KILLS = 100
/** Most steps that a process takes before it is killed. */
const STEPS_MAX = 16
const SEED = Number(process.env['CLIENT_SEED'] ?? 20_261_116)

describe('a process with a journal in a folder', () => {
  const start = useProgram<CrashTask, CrashMessage>(join(import.meta.dirname, 'crash-program.ts'))
  const folder = mkdtempSync(join(tmpdir(), 'reprise-crash-'))
  const random = new Chance(SEED)
  let ledger: Ledger
  beforeAll(async () => {
    ledger = await startLedger({ waitMs: 5_000, before: () => sleep(random.fraction() * 10) })
  })
  afterAll(async () => {
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Lets it take some steps, and a moment more. Tells the last one. */
  async function killed(child: Child<CrashMessage>): Promise<string> {
    let last = ''
    for (let left = random.fraction() * STEPS_MAX; left > 0; left--) {
      const message = await child.message()
      last = 'step' in message ? message.step : last
    }
    await sleep(random.fraction() * 4)
    await child.kill()
    return last
  }

  it(`has one effect for each operation after ${KILLS} kills at random moments (seed ${SEED})`, async () => {
    const task = { folder, baseUrl: `http://127.0.0.1:${ledger.port}/` }
    const steps = new Set<string>()
    for (let kill = 0; kill < KILLS; kill++) {
      steps.add(await killed(start({ ...task, name: `run-${kill}`, isSettling: false })))
    }
    const last = start({ ...task, name: 'last', isSettling: true })
    let end = await last.message()
    while ('step' in end) end = await last.message()
    await last.gone

    const effects = await ledger.effects()
    console.info(`${effects.length} operations; the last kill left ${end.resumed} unfinished`)
    expect(end.open).toBe(0)
    expect(effects.map(({ key }) => key).sort()).toEqual([...end.keys].sort())
    expect(new Set(effects.map(({ op }) => op)).size).toBe(effects.length)
    // The kills came at every step, and most processes had come to something.
    expect([...steps]).toEqual(
      expect.arrayContaining(['writing', 'written', 'attempt', 'answered']),
    )
    expect(new Set(effects.map(({ op }) => op.split('-')[1])).size).toBeGreaterThan(KILLS / 2)
    // Nothing stays of those who were killed in the middle of a file.
    expect(readdirSync(folder).filter((name) => !name.endsWith('.json'))).toEqual([])
  }, 180_000)
})
