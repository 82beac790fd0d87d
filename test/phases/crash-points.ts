/** What tests share that kill a process at every one of its ticks. */

import type { NodeOrder } from './ride-node.ts'
import type { Effects, RideNode } from './ride-world.ts'

/** How long such a test may take on a busy machine, in milliseconds. */
export const KILLING_MS = 300_000
/** Starting a process takes longer than a ride: these many are kept ready. */
const WARM = 3
/** More ticks than any run has. */
export const TICKS_MAX = 200

/** Nodes that are started ahead of time. */
export function warmNodes(start: () => RideNode): () => RideNode {
  const ready = Array.from({ length: WARM }, start)
  return () => {
    ready.push(start())
    const node = ready.shift()
    if (node === undefined) throw new Error('No node is ready.')
    return node
  }
}

/** The ticks of a run that nothing befalls. */
export async function ticksOf(node: RideNode, order: NodeOrder): Promise<readonly string[]> {
  node.order(order)
  for (;;) {
    const message = await node.child.message()
    if (message.kind === 'answer' || message.kind === 'worked') return message.ticks
  }
}

/** The users whose ride did not come to exactly this. */
export function others(
  found: ReadonlyMap<string, Effects>,
  users: readonly string[],
  expected: Effects,
): readonly unknown[] {
  const text = JSON.stringify(expected)
  return users
    .map((user) => [user, found.get(user)] as const)
    .filter(([, effects]) => JSON.stringify(effects) !== text)
}
