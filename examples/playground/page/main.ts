/** The playground: joins its controls with the client, the server's events and what is shown. */

import { startChaos } from './chaos-view.ts'
import { byId } from './elements.ts'
import { listen } from './live.ts'
import type { Network } from './plan.ts'
import { Player, type Settings } from './player.ts'
import { startTour } from './tour.ts'
import { show } from './view.ts'

const player = new Player(() => show(player))

/** What the controls say. */
function settings(): Settings {
  return {
    // The page has no other values.
    network: chosen('network') as Network,
    crash: chosen('crash'),
    retries: byId('auto', HTMLInputElement).checked,
    isUnprotected: byId('unprotected', HTMLInputElement).checked,
    ignoresKeys: byId('ignores-keys', HTMLInputElement).checked,
  }
}

function chosen(name: string): string {
  const input = document.querySelector(`input[name="${name}"]:checked`)
  return input instanceof HTMLInputElement ? input.value : ''
}

/** Buttons do one thing at a time. What needs a key waits for one. */
function lock(isBusy: boolean): void {
  const needsKey = ['retry', 'mismatch']
  for (const id of ['pay', 'pay-five', ...needsKey]) {
    const isIdle = !isBusy && (player.payment !== null || !needsKey.includes(id))
    byId(id).setAttribute('aria-disabled', String(!isIdle))
  }
  document.body.dataset['busy'] = String(isBusy)
}

async function doing(work: () => Promise<void>): Promise<void> {
  if (document.body.dataset['busy'] === 'true') return
  lock(true)
  await work().finally(() => lock(false))
}

const actions: Readonly<Record<string, () => Promise<void>>> = {
  pay: () => player.pay(settings()),
  'pay-five': () => player.payTogether(settings()),
  retry: () => player.retry(settings()),
  mismatch: () => player.mismatch(),
}
for (const [id, action] of Object.entries(actions)) {
  byId(id).addEventListener('click', () => {
    // A disabled button would lose the focus, so it stays and does nothing.
    if (byId(id).getAttribute('aria-disabled') !== 'true') void doing(action)
  })
}
lock(false)

let isDue = false
/** Looks again soon, however much happens meanwhile. */
function refreshSoon(): void {
  if (isDue) return
  isDue = true
  setTimeout(() => {
    isDue = false
    void player.refresh()
  }, 100)
}

listen({
  onEvent: ({ key }) => {
    if (key === undefined || key === player.payment?.key) refreshSoon()
  },
  onCrash: refreshSoon,
})
// The lease runs out, or a worker in another process finishes it, and nobody tells.
setInterval(() => {
  const record = player.payment?.story?.record
  if (record != null && record.status === null) refreshSoon()
}, 1000)

byId('theme', HTMLSelectElement).addEventListener('change', ({ target }) => {
  if (target instanceof HTMLSelectElement) document.documentElement.dataset['theme'] = target.value
})

startTour((isTogether) =>
  doing(isTogether ? () => player.payTogether(settings()) : () => player.pay(settings())),
)
startChaos()
