/** The side of a node that takes requests from its parent and tells it what came of them. */

import type { RunResult } from '../../src/index.ts'
import type { NodeMessage, NodeOrder } from './node.ts'

/** Runs the request of a key. */
export type Run = (key: string) => Promise<RunResult>

/** Takes requests until the parent is gone. */
export function serveNode(run: Run): void {
  process.on('message', (text) => void take(run, text))
  process.on('disconnect', () => process.exit())
  tell({})
}

function tell(message: NodeMessage): void {
  process.send?.(message)
}

async function take(run: Run, text: unknown): Promise<void> {
  // The parent wrote it.
  const { id, key } = JSON.parse(String(text)) as NodeOrder
  try {
    const result = await run(key)
    const response = 'response' in result ? result.response : undefined
    const body = new TextDecoder().decode(response?.body)
    const fate = 'fate' in result ? result.fate : 'stored'
    tell({ id, outcome: result.outcome, status: response?.status ?? null, body, fate })
  } catch (error) {
    tell({ id, outcome: 'threw', status: null, body: String(error) })
  }
}
