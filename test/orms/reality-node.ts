/** A node whose hostile handlers run in transactions of an ORM; `npm run reality` kills it. */

import { HOSTILE_POOL, runHostile } from '../reality/hostile.ts'
import type { NodeTask } from '../reality/node.ts'
import { serveNode } from '../reality/serve-node.ts'
import { BUNDLED } from './bundled-kinds.ts'

// The parent wrote it.
const { mode, url, leaseMs } = JSON.parse(process.argv[2] ?? '') as NodeTask
const kind = BUNDLED.find(({ name }) => mode === `hostile-${name}`)
if (kind === undefined) throw new Error(`This node does not run ${mode}.`)
const connections = await kind.connect(url, { pool: HOSTILE_POOL, latencyMs: 0 })
serveNode(runHostile(connections, { leaseMs, storeTimeoutMs: 3000 }))
