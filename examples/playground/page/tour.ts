/**
 * Goes through the scenes by itself, or to the one that the address names.
 *
 * @module
 */

import { byId, make, setText } from './elements.ts'
import { SCENES, type Scene } from './scenes.ts'

/** How long a scene stays when it is over, in milliseconds. */
const STAY_MS = 5000

/** Puts the tour on its buttons. `play` pays as the controls say. */
export function startTour(play: (isTogether: boolean) => Promise<void>): void {
  const start = byId('tour', HTMLButtonElement)
  const pause = byId('tour-pause', HTMLButtonElement)
  let isPaused = false
  let goOn: () => void = () => {}

  const perform = async (scene: Scene) => {
    setText(byId('tour-text'), scene.text)
    setControls(scene)
    await play(scene.isTogether === true)
  }
  const stay = async () => {
    await new Promise((resolve) => setTimeout(resolve, STAY_MS))
    if (!isPaused) return
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
  }
  const tour = async () => {
    start.disabled = true
    pause.disabled = false
    for (const [index, scene] of SCENES.entries()) {
      await perform(scene)
      if (index < SCENES.length - 1) await stay()
    }
    setControls({ name: '', title: '', text: '' })
    setText(byId('tour-text'), 'That was it. Now break it yourself.')
    start.disabled = false
    pause.disabled = true
  }
  start.addEventListener('click', () => void tour())
  pause.addEventListener('click', () => {
    isPaused = !isPaused
    pause.textContent = isPaused ? 'Go on' : 'Pause'
    if (!isPaused) goOn()
  })
  byId('scenes').replaceChildren(
    ...SCENES.map(({ name, title }) => make('li', [make('a', title, { href: `#scene=${name}` })])),
  )
  const goTo = () => {
    const name = new URLSearchParams(location.hash.slice(1)).get('scene')
    const scene = SCENES.find((known) => known.name === name)
    if (scene !== undefined) void perform(scene)
  }
  addEventListener('hashchange', goTo)
  goTo()
}

function setControls(scene: Scene): void {
  choose('network', scene.network ?? 'fine')
  choose('crash', scene.crash ?? '')
  byId('unprotected', HTMLInputElement).checked = scene.isUnprotected === true
  byId('ignores-keys', HTMLInputElement).checked = scene.ignoresKeys === true
  byId('auto', HTMLInputElement).checked = true
}

function choose(name: string, value: string): void {
  const input = document.querySelector(`input[name="${name}"][value="${value}"]`)
  if (input instanceof HTMLInputElement) input.checked = true
}
