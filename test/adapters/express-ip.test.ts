import { createRequire } from 'node:module'
import express from 'express'
import { expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/express.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import type { ClaimRequest } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { listen } from './listen.ts'

const express4 = createRequire(import.meta.url)('express4') as typeof express

it.each([
  ['4', express4],
  ['5', express],
] as const)('notes the address that the app of Express %s gives', async (_, make) => {
  const store = memoryStore()
  const claim = store.claim.bind(store)
  const ips: unknown[] = []
  store.claim = (request: ClaimRequest) => {
    ips.push(request.origin.ip)
    return claim(request)
  }
  const app = make()
  Object.defineProperty(app.request, 'ip', {
    configurable: true,
    enumerable: true,
    get(this: express.Request) {
      return this.get('Client-IP')
    },
  })
  app.post('/', idempotent(createReprise({ store }), { caller: () => 'a' }), (req, res) => {
    res.send(req.ip)
  })
  const served = await listen(app)
  const answer = await fetch(`http://127.0.0.1:${served.port}/`, {
    method: 'POST',
    headers: { 'idempotency-key': 'k-123456', 'client-ip': '203.0.113.7' },
  })
  expect(await answer.text()).toBe('203.0.113.7')
  await served.close()
  expect(ips).toEqual(['203.0.113.7'])
})
