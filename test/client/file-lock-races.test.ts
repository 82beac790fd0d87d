import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FileLocks } from '../../src/client/file-locks.ts'
import { JournalFiles, machine } from '../../src/client/journal-files.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

const LOCK = 'a.lock'
/** No process has this number. */
const DEAD = `4194999 ${machine} x`
const FASTER = '1 another-machine y'

/** A folder, and a moment in which somebody else is faster: just before a lock is moved aside. */
function contested() {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-locks-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const files = new JournalFiles(folder)
  const moving = files.move.bind(files)
  let isBeaten = false
  files.move = async (name, to) => {
    if (isBeaten && name === LOCK) writeFileSync(join(folder, LOCK), FASTER)
    return moving(name, to)
  }
  const locks = new FileLocks(files, new FakeClock(Date.now()))
  const holder = () => readFile(join(folder, LOCK), 'utf8')
  const beaten = () => {
    isBeaten = true
  }
  return {
    folder,
    locks,
    holder,
    beaten,
    write: (text: string) => writeFileSync(join(folder, LOCK), text),
  }
}

describe('a lock that somebody else takes at the same moment', () => {
  it('stays theirs when this process was about to free it from a dead holder', async () => {
    const { folder, locks, holder, beaten, write } = contested()
    write(DEAD)
    beaten()

    expect(await locks.take(LOCK)).toBeUndefined()
    expect(await holder()).toBe(FASTER)
    expect(await readdir(folder)).toEqual([LOCK])
  })

  it('stays theirs when this process tidies up after dead holders', async () => {
    const { folder, locks, holder, beaten, write } = contested()
    write(DEAD)
    beaten()
    await locks.tidy()

    expect(await holder()).toBe(FASTER)
    expect(await readdir(folder)).toEqual([LOCK])
  })

  it('stays theirs when this process, taken for dead meanwhile, gives it back', async () => {
    const { folder, locks, holder, beaten } = contested()
    const release = await locks.take(LOCK)
    expect(release).toBeTypeOf('function')
    beaten()
    await release?.()

    expect(await holder()).toBe(FASTER)
    expect(await readdir(folder)).toEqual([LOCK])
  })

  it('is this process’s when its dead holder is gone before it could be moved', async () => {
    const { folder, locks, write } = contested()
    write(DEAD)
    const release = await locks.take(LOCK)

    expect(release).toBeTypeOf('function')
    await release?.()
    expect(await readdir(folder)).toEqual([])
  })
})
