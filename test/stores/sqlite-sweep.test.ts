import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { clients } from './sqlite-clients.ts'
import { openForTest, testFile } from './sqlite-files.ts'

/** More than one transaction of a sweep deletes. */
const RECORDS = 1100

describe.each(clients())('a sweep on $name', (client) => {
  it('deletes as many as it may, in as many transactions as that takes', async () => {
    const handle = openForTest(client, testFile())
    const store = sqliteStore(handle)
    await store.ready()
    const granted = await store.claim(sampleRequest())
    if (!('claim' in granted)) throw new Error('It is not fresh.')
    await store.finish(granted.claim, sampleFinish())
    const columns = handle.prepare(`select name from pragma_table_info('reprise_records')`).all()
    const others = columns
      .map((row) => String(Object.values(Object(row))[0]))
      .filter((name) => name !== 'id')
    handle.exec(`update reprise_records set expires_at = 1`)
    handle.exec(`
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${RECORDS - 1})
      insert into reprise_records (id, ${others.join(', ')})
      select printf('%032d', n), ${others.join(', ')} from reprise_records, numbers`)

    expect(await store.sweep(50)).toBe(50)
    expect(await store.sweep(RECORDS)).toBe(RECORDS - 50)
    expect(await store.sweep(RECORDS)).toBe(0)
  })
})
