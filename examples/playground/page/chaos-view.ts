/**
 * The chaos run on the page; `#chaos=7` runs the one with seed 7.
 *
 * @module
 */

import { type ChaosProgress, runChaos } from './chaos.ts'
import { byId, setText } from './elements.ts'

/** Puts the run on its form. */
export function startChaos(): void {
  const form = byId('chaos', HTMLFormElement)
  const rounds = byId('rounds', HTMLInputElement)
  const seed = byId('seed', HTMLInputElement)
  const button = form.querySelector('button')
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (button === null || button.disabled) return
    button.disabled = true
    history.replaceState(null, '', `#chaos=${seed.value}&rounds=${rounds.value}`)
    run(Number(rounds.value), Number(seed.value))
      .catch((error: unknown) => tell(`The run broke off: ${String(error)}`, 'bad'))
      .finally(() => {
        button.disabled = false
      })
  })
  const asked = new URLSearchParams(location.hash.slice(1))
  if (!asked.has('chaos')) return
  seed.value = asked.get('chaos') ?? seed.value
  rounds.value = asked.get('rounds') ?? rounds.value
  form.requestSubmit()
}

async function run(rounds: number, seed: number): Promise<void> {
  const bar = byId('chaos-progress', HTMLProgressElement)
  bar.max = rounds
  bar.value = 0
  const prefix = `chaos-${seed}-${Date.now().toString(36)}-`.padEnd(22, '0')
  const words = ({ done, attempts, crashes }: ChaosProgress) =>
    `requests ${done} · attempts ${attempts} · crashes ${crashes}`
  tell('Running …', 'soft')
  const result = await runChaos({
    ...{ base: '', seed, rounds, prefix },
    onProgress(progress) {
      bar.value = progress.done
      // Told in steps: what changes all the time can not be listened to.
      if (progress.done % Math.ceil(rounds / 10) === 0) tell(words(progress), 'soft')
    },
  })
  const { charges, duplicates, deadLetters } = result.tally
  const verdict = result.isExactlyOnce ? '✓ one charge for each' : '✕ not one charge for each'
  const text = `${words(result)} · charges ${charges} · duplicates ${duplicates} · dead letters ${deadLetters} · seed ${seed}: ${verdict}`
  tell(text, result.isExactlyOnce ? 'good' : 'bad')
}

function tell(text: string, state: string): void {
  const line = byId('chaos-text')
  line.className = state
  setText(line, text)
}
