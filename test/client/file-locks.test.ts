import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FileLocks } from '../../src/client/file-locks.ts'
import { JournalFiles, machine } from '../../src/client/journal-files.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

function made() {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-locks-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const files = new JournalFiles(folder)
  const clock = new FakeClock(Date.now())
  return { folder, files, clock, locks: new FileLocks(files, clock) }
}

/** A holder that runs on another machine. */
const OTHERS = '1 another-machine x'
/** A holder that is gone: no process has this number. */
const GONE = `4194999 ${machine} x`

describe('a lock in a folder', () => {
  it('that somebody else has taken meanwhile is not given back by the holder before', async () => {
    const { folder, locks } = made()
    const release = await locks.take('a.lock')
    writeFileSync(join(folder, 'a.lock'), OTHERS)
    await release?.()
    expect(readFileSync(join(folder, 'a.lock'), 'utf8')).toBe(OTHERS)
    expect(await readdir(folder)).toEqual(['a.lock'])
  })

  it('of a dead holder that somebody else was faster to take stays theirs', async () => {
    const { folder, files, locks } = made()
    writeFileSync(join(folder, 'a.lock'), GONE)
    const moving = files.move.bind(files)
    let isFirst = true
    // Between the look at the dead holder and the freeing of its lock.
    files.move = async (name, to) => {
      if (isFirst) writeFileSync(join(folder, 'a.lock'), OTHERS)
      isFirst = false
      return moving(name, to)
    }
    expect(await locks.take('a.lock')).toBeUndefined()
    expect(readFileSync(join(folder, 'a.lock'), 'utf8')).toBe(OTHERS)
  })

  it('of a dead holder is tidied away, and that of a living one is not', async () => {
    const { folder, clock, locks } = made()
    const release = await locks.take('mine.lock')
    writeFileSync(join(folder, 'gone.lock'), GONE)
    writeFileSync(join(folder, 'theirs.lock'), OTHERS)
    await locks.tidy()
    expect((await readdir(folder)).sort()).toEqual(['mine.lock', 'theirs.lock'])
    await release?.()
    // Whoever gave no sign for more than 30 seconds is gone.
    clock.advance(29_000)
    await locks.tidy()
    expect(await readdir(folder)).toEqual(['theirs.lock'])
    clock.advance(2_000)
    await locks.tidy()
    expect(await readdir(folder)).toEqual([])
  })

  it('whose file could not be removed when it was given back belongs to nobody', async () => {
    const { files, locks } = made()
    const release = await locks.take('a.lock')
    const { move } = files
    files.move = () => Promise.reject(new Error('EIO'))
    await release?.()
    files.move = move
    const again = await locks.take('a.lock')
    expect(again).toBeTypeOf('function')
    await again?.()
  })

  it('that was given back gives no more signs', async () => {
    const { clock, locks } = made()
    const release = await locks.take('a.lock')
    expect(clock.timerCount).toBe(1)
    await release?.()
    expect(clock.timerCount).toBe(0)
  })
})
