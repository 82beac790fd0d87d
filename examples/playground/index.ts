/**
 * The playground: one charge, whatever you do. A page that shows it, and what the page needs from the
 * server. Only in demo mode.
 *
 * @module
 */

import type { Node } from '../server/node.ts'
import type { MountedApi } from '../server/router.ts'
import { json, type Pages, problem, type Reply } from '../server/site/reply.ts'
import type { Services } from '../server/supervision/services.ts'
import { pageAssets } from './assets.ts'
import { LiveEvents } from './live-events.ts'
import { readStory, readTally } from './story.ts'

export { LiveEvents } from './live-events.ts'
export { demoPayments } from './payments/index.ts'

/** What the playground shows. */
export interface PlaygroundParts {
  readonly node: Node
  readonly services: Services
  readonly live: LiveEvents
}

/** What the playground adds to the server. */
export interface Playground {
  readonly pages: Pages
  readonly mounted: readonly MountedApi[]
}

/** Makes the playground. */
export function createPlayground({ node, services, live }: PlaygroundParts): Playground {
  const { pool, stripe, faultLog } = node
  const sources = { pool, stripe, services, faultLog }
  const asked = async (
    parameter: string | null,
    read: (value: string) => Promise<unknown>,
  ): Promise<Reply> => {
    if (parameter) return json(await read(parameter))
    return problem(400, 'parameter_missing', 'Say which: ?key=… or ?prefix=…')
  }
  return {
    pages: {
      ...pageAssets(),
      'GET /demo/story': ({ url }) => {
        return asked(parameterOf(url, 'key'), (key) => readStory(sources, key))
      },
      'GET /demo/tally': ({ url }) => {
        return asked(parameterOf(url, 'prefix'), (prefix) => readTally(sources, prefix))
      },
    },
    mounted: [{ paths: ['/demo/events'], listener: live.listener }],
  }
}

function parameterOf(url: string | undefined, name: string): string | null {
  return new URL(url ?? '/', 'http://server').searchParams.get(name)
}
