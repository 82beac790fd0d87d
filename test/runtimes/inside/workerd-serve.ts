/** The contract of adapters on the server of workerd. */

import { describe } from 'vitest'
import { testContract } from '../../adapters/contract.ts'
import { fetchOn, honoOn } from './adapters.ts'
import { openDoor } from './workerd-doors.ts'

const openTransactional = async () => {
  throw new Error('workerd has no store with transactions that several requests can share')
}

describe('fetch on workerd keeps the contract of an adapter:', () => {
  testContract({ ...fetchOn(openDoor), openTransactional })
})

describe('Hono on workerd keeps the contract of an adapter:', () => {
  testContract({ ...honoOn(openDoor), openTransactional })
})
