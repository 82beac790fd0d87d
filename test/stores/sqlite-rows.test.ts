import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { sampleRequest } from '../../src/testing/contract/sample.ts'
import { clients } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

describe.each(clients())('what a statement gives in a transaction on $name', (client) => {
  it('is data as it is without one: it can be cloned, and bytes are bytes', async () => {
    const handle = openForTest(client, testFile())
    const store = sqliteStore(handle)
    await store.ready()
    const open = await store.transactions.begin(sampleRequest())
    if (!('commit' in open)) throw new Error('It was refused.')
    const rows: unknown = open.tx
      .prepare(`select 1 as n, x'00ff' as bytes union all select 2, x''`)
      .all()

    const [first] = structuredClone(rows) as readonly { n: number; bytes: Uint8Array }[]
    expect(first?.n).toBe(1)
    expect(Buffer.from(first?.bytes ?? []).toString('hex')).toBe('00ff')
    // Not every library has it. What it gives are rows as well.
    const pragma: unknown = Reflect.get(open.tx, 'pragma')
    if (typeof pragma === 'function') {
      const given: unknown = Reflect.apply(pragma, open.tx, ['user_version'])
      expect(structuredClone(given)).toEqual([{ user_version: 0 }])
    }
    await open.rollback()
  })
})
