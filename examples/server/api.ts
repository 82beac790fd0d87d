/** The process that serves the APIs: the one that crashes when a request asks for it. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { createPlayground, demoPayments, LiveEvents } from '../playground/index.ts'
import { APIS } from './apis.ts'
import { mountDashboard } from './dashboard.ts'
import { type NodeOrder, startNode } from './node.ts'
import { routeRequests } from './router.ts'
import { createSite } from './site/site.ts'
import { endWithParent, giveUp, turnToServe } from './supervision/child.ts'

/** What the supervisor says. */
export interface ApiOrder extends NodeOrder {
  readonly host: string
  readonly port: number
  readonly isDemo: boolean
}

async function serve(): Promise<() => Promise<void>> {
  // Everything is loaded; from here on it takes a moment.
  const order = await turnToServe<ApiOrder>()
  const { host, port, url, isDemo, services } = order
  const live = isDemo ? new LiveEvents() : undefined
  const node = await startNode(order, isDemo ? [...APIS, demoPayments] : APIS, live?.watch)
  const pages = createSite({ node, services, apis: APIS, url, isDemo })
  const playground = live && createPlayground({ node, services, live })
  const routes = {
    pages: { ...pages, ...playground?.pages },
    // What else is served under paths of its own is one more `{ paths, listener }` here.
    apis: [...node.apis, ...(playground?.mounted ?? []), ...(isDemo ? [mountDashboard(node)] : [])],
    faults: isDemo ? node.faults : undefined,
  }
  const answer = routeRequests(routes)
  const server = createServer(live?.watched(answer) ?? answer)
  await once(server.listen(port, host), 'listening')
  return async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeIdleConnections()
    await node.close()
    server.closeAllConnections()
    await closed
  }
}

try {
  endWithParent(await serve())
  process.send?.('ready')
} catch (error) {
  giveUp(error)
}
