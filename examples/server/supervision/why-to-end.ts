/**
 * What ends the supervisor.
 *
 * @module
 */

import { readFileSync } from 'node:fs'

/** How often it is looked whether npm is still there, in milliseconds. */
const LOOK_MS = 500

/**
 * Resolves, with the reason in words, when the supervisor is to end: by a signal, or because the npm
 * that runs it was killed. Further signals change nothing: everything is ending already.
 */
export function whyToEnd(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => resolve(`${signal}: ending everything.`))
    }
    if (process.env['npm_lifecycle_event'] === undefined) return
    const ancestors = ancestorsOf()
    const look = setInterval(() => {
      if (ancestorsOf() === ancestors) return
      clearInterval(look)
      resolve('npm has ended: ending everything.')
    }, LOOK_MS)
    look.unref()
  })
}

/**
 * The processes between us and npm: a shell, and npm itself. Whoever loses its parent gets another
 * one, so a change means that one of them has ended.
 */
function ancestorsOf(): string {
  const parent = process.ppid
  return `${parent} ${parentOf(parent)}`
}

function parentOf(pid: number): string {
  try {
    // Number, name in parentheses, state, parent; the name may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? ''
  } catch {
    // No such file on this system: the parent alone has to do.
    return ''
  }
}
