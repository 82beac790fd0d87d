/**
 * The dashboard on a real store: what the page asks for is there, and orders are carried out.
 *
 * @module
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDashboard, type Dashboard } from '../../src/dashboard/index.ts'
import { type AdminWorld, postgresWorld } from '../admin/world.ts'

let world: AdminWorld
let dashboard: Dashboard
beforeAll(async () => {
  world = await postgresWorld()
  const run = { caller: 'acct_1', operation: 'POST /rides', fingerprints: ['a'.repeat(64)] }
  const answer = new TextEncoder().encode('{"amount":9007199254740993,"password":"hunter2"}')
  await world.reprise.run({ ...run, key: 'done-1234' }, async () => ({
    ...{ status: 201, headers: [['Content-Type', 'application/json']], body: answer },
  }))
  await world.reprise
    .run({ ...run, key: 'broken-5678' }, () => Promise.reject(new Error('the process is lost')))
    .catch(() => {})
  dashboard = createDashboard({
    admin: world.admin(),
    authorize: () => ({ user: 'ops@example.com', can: 'all' }),
  })
})
afterAll(() => world?.dispose())

async function get(path: string) {
  const response = await dashboard(new Request(`http://ops.example/api/${path}`))
  return { status: response.status, body: await response.json() }
}

async function post(path: string, body: object, key: string) {
  const response = await dashboard(
    new Request(`http://ops.example/api/${path}`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    }),
    { ip: '198.51.100.7' },
  )
  return { status: response.status, body: await response.json() }
}

describe('the dashboard on PostgreSQL', () => {
  it.each([
    ...['overview?window=3600000', 'pulse', 'counts', 'requests', 'letters', 'jobs', 'workers'],
    ...['audit', 'duplicates', 'requests?state=finished&operation=POST%20%2Frides&limit=1'],
  ])('answers %s', async (path) => {
    expect(await get(path)).toMatchObject({ status: 200 })
  })

  it('D-20 finds a key, D-34 reveals every digit and D-66 no secret, D-55 and says who looked', async () => {
    const { body: found } = await get('keys?key=done-1234')
    expect(found).toHaveLength(1)
    const { body: detail } = await get(`requests/${found[0].id}`)
    expect(detail).toMatchObject({ state: 'finished', status: 201, caller: 'acct_1' })
    const revealed = await post(`requests/${found[0].id}/reveal`, {}, 'look')
    expect(revealed.body.response.body).toContain('9007199254740993')
    expect(JSON.stringify(revealed.body)).not.toContain('hunter2')
    const { body: audit } = await get('audit')
    expect(audit.items[0]).toMatchObject({ author: 'ops@example.com', ip: '198.51.100.7' })
  })

  it('D-51, D-56, D-57 expires once, and only what was shown', async () => {
    const { body: found } = await get('keys?key=done-1234')
    const [{ id, version }] = found
    const path = `requests/${id}/expire`
    const unconfirmed = await post(path, { reason: 'wrong', version }, 'one')
    expect(unconfirmed).toMatchObject({ status: 422, body: { outcome: 'unconfirmed' } })
    const order = { reason: 'wrong', version, confirm: '1234' }
    expect(await post(path, order, 'two')).toMatchObject({ body: { outcome: 'done' } })
    expect(await post(path, order, 'two')).toMatchObject({ body: { outcome: 'repeated' } })
    const late = await post(path, order, 'three')
    expect(['conflict', 'refused', 'not_found']).toContain(late.body.outcome)
  })

  it('steers a worker, and says what is wrong with a question', async () => {
    expect(await post('workers/reaper/pause', {}, 'pause')).toMatchObject({ status: 200 })
    const { body } = await get('workers')
    expect(body.find((one: { worker: string }) => one.worker === 'reaper')?.isPaused).toBe(true)
    expect(await get('requests?after=nonsense')).toMatchObject({ status: 400 })
    expect(await get('requests/nothing')).toMatchObject({ status: 404 })
    expect(await post('jobs/nothing/retry', {}, 'retry')).toMatchObject({ status: 404 })
    const many = { action: 'resume', reason: 'r', filter: { states: ['stuck'] }, confirm: '7' }
    expect(await post('batches', many, 'many')).toMatchObject({ status: 400 })
  })
})
