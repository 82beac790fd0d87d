/**
 * Lets answers that are due at the same moment, as those of all who waited for one run, leave in small
 * groups. Sent in one go, five hundred of them would keep every other request of the process waiting
 * until the last one is written.
 *
 * @module
 */

import { afterEvents } from './node-clock.ts'

/** Answers in one go: some milliseconds of work. */
const GROUP = 16

/** How many more may go before other events have their turn. */
let left = GROUP
const waiting: (() => void)[] = []

/** Resolves when it is an answer's turn; `undefined` when that is now. */
export function turn(): Promise<void> | undefined {
  if (left === GROUP) afterEvents(nextGroup)
  if (left > 0) {
    left--
    return undefined
  }
  return new Promise((resolve) => {
    waiting.push(resolve)
  })
}

function nextGroup(): void {
  const group = waiting.splice(0, GROUP)
  left = GROUP - group.length
  if (group.length > 0) afterEvents(nextGroup)
  for (const go of group) go()
}
