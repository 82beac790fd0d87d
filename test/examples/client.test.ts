/**
 * The quick start for the client, against the one for Express, through the package's own exports.
 *
 * @module
 */

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cuttingProxy } from '../clients/cutting-proxy.ts'

interface Charge {
  readonly id: number
  readonly key: string
  readonly attempts: number
  readonly replayed: boolean
}

interface QuickStart {
  readonly resumed: readonly unknown[]
  charge(amount: number): Promise<Charge>
}

/**
 * By a name that only the run knows: the package has to be built before its types are there. And by a
 * name of its own: another file, in this process, loads the same example and closes its server.
 */
function load<Module>(name: string): Promise<Module> {
  return import(`../../examples/quick-start/${name}.ts?client`)
}

test('the quick start for the client has one effect, also where the answer was lost', async () => {
  vi.stubEnv('PORT', '0')
  const { server } = await load<{ server: Server }>('express')
  onTestFinished(() => void server.close())
  if (!server.listening) await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  const proxy = await cuttingProxy(port)
  const journal = mkdtempSync(join(tmpdir(), 'reprise-quick-start-'))
  onTestFinished(() => rmSync(journal, { recursive: true, force: true }))
  vi.stubEnv('API_URL', `http://127.0.0.1:${proxy.port}`)
  vi.stubEnv('JOURNAL', journal)
  const { charge, resumed } = await load<QuickStart>('client')

  proxy.loseNextAnswer()
  const first = await charge(4200)
  const second = await charge(4200)
  expect(resumed).toEqual([])
  expect(first).toMatchObject({ id: 1, attempts: 2, replayed: true })
  expect(second).toMatchObject({ id: 2, attempts: 1, replayed: false })
  expect(second.key).not.toBe(first.key)
})
