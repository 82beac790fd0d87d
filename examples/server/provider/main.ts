/**
 * The process of the payment provider and of the mailbox: the world outside, which does not crash
 * when the API does.
 */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { endWithParent, turnToServe } from '../supervision/child.ts'
import { controlListener } from './control.ts'
import { Ledger } from './ledger.ts'
import { Mailbox } from './mailbox.ts'
import { Provider } from './provider.ts'

/** What the supervisor says. */
export interface ProviderOrder {
  /** Folder of the ledger and the mailbox. */
  readonly directory: string
  readonly host: string
  readonly apiPort: number
  readonly controlPort: number
  readonly smtpPort: number
}

const order = await turnToServe<ProviderOrder>()
const { directory, host } = order

const ledger = await Ledger.open(join(directory, 'ledger.jsonl'))
const mailbox = await Mailbox.open(join(directory, 'mailbox.jsonl'), { host, port: order.smtpPort })
const provider = new Provider(ledger, { host, port: order.apiPort })
await provider.open()
const control = createServer(controlListener({ ledger, mailbox, provider }))
await once(control.listen(order.controlPort, host), 'listening')

endWithParent(async () => {
  control.close()
  control.closeAllConnections()
  await provider.close()
  await mailbox.close()
  await ledger.close()
})
process.send?.('ready')
