import { getRequestListener } from '@hono/node-server'
import { expect, it, onTestFinished } from 'vitest'
import { done, world } from './world.ts'

it('a request names the type of its body also where @hono/node-server has replaced Response', async () => {
  const { Request: request, Response: response } = globalThis
  getRequestListener(() => new response())
  onTestFinished(() => void Object.assign(globalThis, { Request: request, Response: response }))
  expect(globalThis.Response).not.toBe(response)

  const { client, seen } = world([done])
  await client.post('x', { json: { amount: 1 } })
  await client.post('x', { body: new Blob(['blob'], { type: 'a/b' }) })
  const types = seen.map(({ headers }) => headers.get('Content-Type'))
  expect(types).toEqual(['application/json', 'a/b'])
})
