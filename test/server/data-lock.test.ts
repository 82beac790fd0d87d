import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { claimData, visitData } from '../../examples/server/supervision/data-lock.ts'
import { freePort } from '../../scripts/servers/guarded.ts'
import { temporaryData } from './reference-server.ts'

async function claim(directory: string) {
  const claimed = await claimData<string>(directory)
  onTestFinished(() => (claimed.role === 'owner' ? claimed.release() : claimed.leave()))
  return claimed
}

async function ownership(directory: string) {
  const claimed = await claim(directory)
  if (claimed.role !== 'owner') throw new Error('Somebody has it.')
  return claimed
}

describe('the lock of a data directory', () => {
  test('has one owner; who comes later learns what it shares, and when it ends', async () => {
    const directory = await temporaryData()
    const owner = await ownership(directory)
    // A guest that comes too early waits for what there is to share.
    const early = claim(directory)
    owner.share('services')
    for (const guest of [await early, await claim(directory)]) {
      expect(guest).toMatchObject({ role: 'guest', pid: process.pid, shared: 'services' })
    }
    const guest = await visitData(directory)
    await owner.release()
    await guest?.ended
    expect(await visitData(directory)).toBeUndefined()
  })

  test('goes to one of many who come at once', async () => {
    const directory = await temporaryData()
    const claims = Array.from({ length: 8 }, async () => {
      const claimed = await claim(directory)
      if (claimed.role === 'owner') claimed.share('mine')
      return claimed.role
    })
    const roles = await Promise.all(claims)
    expect(roles.filter((role) => role === 'owner')).toHaveLength(1)
  })

  test.each(['nobody listens there', 'somebody else listens there'])(
    'that a dead owner left is taken over: %s',
    async (where) => {
      const directory = await temporaryData()
      const elsewhere = await temporaryData()
      const other = await ownership(elsewhere)
      other.share('not yours')
      const { port: alive } = JSON.parse(await readFile(join(elsewhere, 'lock'), 'utf8'))
      const port = where === 'nobody listens there' ? await freePort() : alive
      const lock = JSON.stringify({ pid: 1, port, token: 'of the dead' })
      await writeFile(join(directory, 'lock'), lock)
      expect((await claim(directory)).role).toBe('owner')
      expect(await readFile(join(directory, 'lock'), 'utf8')).not.toBe(lock)
    },
  )
})
