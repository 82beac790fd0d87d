import { describe, expect, it } from 'vitest'
import { checkSafety } from '../../src/stores/redis/check.ts'

const SAFE = {
  ...{ role: 'master', redis_version: '7.2.4' },
  ...{ aof_enabled: '1', maxmemory_policy: 'noeviction' },
}

/** What is said of primaries that tell this of themselves. */
async function said(...infos: Readonly<Record<string, string | undefined>>[]): Promise<string> {
  const primaries = infos.map((info, index) => ({
    address: `10.0.0.${index}:6379`,
    send: async () => {
      const given = Object.entries({ ...SAFE, ...info }).filter(([, value]) => value !== undefined)
      return given.map(([name, value]) => `${name}:${value}`).join('\r\n')
    },
  }))
  const unused = () => Promise.reject(new Error('It is not asked.'))
  const connection = { isCluster: infos.length > 1, send: unused, listen: unused }
  return checkSafety({ ...connection, primaries: async () => primaries }, 'refuse').then(
    () => 'safe',
    (error: Error) => error.message,
  )
}

describe('the settings of a Redis', () => {
  it.each([
    [{}, 'safe'],
    [{ aof_enabled: '0' }, 'appendonly is no'],
    [{ aof_enabled: undefined }, 'whether appendonly is on is unknown'],
    [{ maxmemory_policy: 'allkeys-lru' }, 'maxmemory-policy is allkeys-lru'],
    [{ maxmemory_policy: undefined }, 'what maxmemory-policy is set to is unknown'],
    [{ role: 'slave' }, 'is a replica'],
    [{ redis_version: '6.0.16' }, 'is version 6.0.16'],
    [{ redis_version: '5.9.0' }, 'is version 5.9.0'],
    [{ redis_version: '6.2.0' }, 'safe'],
    [{ redis_version: '7.0.0' }, 'safe'],
    [{ redis_version: undefined }, 'safe'],
  ])('%j: %s', async (info, words) => {
    expect(await said(info)).toContain(words)
  })

  it('are looked at on every primary of a cluster, and the one that is unsafe is named', async () => {
    expect(await said({}, { aof_enabled: '0' })).toContain(
      'Redis at 10.0.0.1:6379 can forget records',
    )
    expect(await said({}, {})).toBe('safe')
  })
})
