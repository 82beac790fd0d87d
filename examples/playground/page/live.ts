/**
 * What the server tells as it happens, and whether it is there at all.
 *
 * @module
 */

import type { LiveEvent } from '../live-events.ts'
import { byId, make, setText } from './elements.ts'

/** Who is told. */
export interface LiveListener {
  onEvent(event: LiveEvent): void
  /** The process that serves died, and another one does now. */
  onCrash(): void
}

/** Lines that the log holds at most. */
const LINES_MAX = 400

/** Listens for as long as the page is open. */
export function listen(listener: LiveListener): void {
  const source = new EventSource('/demo/events')
  const process = byId('process')
  let pid: number | undefined
  let startedAt = 0
  let downAt: number | undefined
  const isDown = () => downAt !== undefined
  source.addEventListener('hello', ({ data }) => {
    const hello = JSON.parse(data)
    const wasDown = downAt === undefined ? 0 : Math.round(performance.now() - downAt)
    downAt = undefined
    startedAt = hello.startedAt
    if (pid !== undefined && pid !== hello.pid) {
      addLine('up', `process ${pid} died; process ${hello.pid} serves after ${wasDown} ms`)
      listener.onCrash()
    }
    pid = hello.pid
    tell()
  })
  source.addEventListener('live', ({ data }) => {
    const event: LiveEvent = JSON.parse(data)
    addLine(event.kind, event.text)
    listener.onEvent(event)
  })
  source.addEventListener('error', () => {
    if (isDown()) return
    downAt = performance.now()
    addLine('down', `process ${pid ?? '?'} is gone`)
    tell()
  })
  function tell(): void {
    process.dataset['state'] = isDown() ? 'down' : 'up'
    const seconds = Math.max(0, Math.round((Date.now() - startedAt) / 1000))
    const text = isDown()
      ? `process ${pid ?? '?'} died, restarting …`
      : `process ${pid}, up ${seconds} s`
    setText(process, text)
  }
  setInterval(() => {
    if (pid !== undefined) tell()
  }, 1000)
  byId('clear').addEventListener('click', () => byId('server-log').replaceChildren())
}

/** Adds a line to the server's log. */
function addLine(kind: string, text: string): void {
  if (byId('pause', HTMLInputElement).checked) return
  const log = byId('server-log')
  const now = new Date()
  const time = `${now.toTimeString().slice(0, 8)}.${String(now.getMilliseconds()).padStart(3, '0')}`
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40
  log.append(make('li', [make('time', time), text], { 'data-kind': kind }))
  while (log.childElementCount > LINES_MAX) log.firstElementChild?.remove()
  if (isAtEnd) log.scrollTop = log.scrollHeight
}
