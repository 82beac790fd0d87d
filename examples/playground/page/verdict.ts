/**
 * What happened, in words, by what the provider's ledger says.
 *
 * @module
 */

import type { Payment } from './player.ts'

/** A verdict. */
export interface Verdict {
  readonly state: 'none' | 'open' | 'good' | 'bad' | 'person'
  /** In two or three words, with a sign. */
  readonly short: string
  readonly text: string
}

/** How often the server was killed by a request of the payment. */
export function crashesOf({ story }: Payment): number {
  return story?.faults.filter((fault) => fault.startsWith('crash=')).length ?? 0
}

/** Judges a payment. */
export function verdictOf(payment: Payment): Verdict {
  const { key, attempts, story, path, unmet } = payment
  const charges = story?.charges.length ?? 0
  const crashes = crashesOf(payment)
  const happened = `${count(charges, 'charge')} for key ${shortKey(key)} after ${count(attempts.length, 'attempt')} and ${count(crashes, 'crash', 'crashes')}.`
  if (story?.letter) {
    const why = charges === 0 ? '' : ' No second charge was tried.'
    const text = `${happened} Nobody can know whether the call took effect, so a person decides: ${story.letter.cause}.${why}`
    return charges > 1
      ? { state: 'bad', short: `✕ ${charges} charges`, text }
      : { state: 'person', short: '⚑ needs a person', text }
  }
  if (charges > 1) {
    return {
      state: 'bad',
      short: `✕ charged ${charges} times`,
      text: `${happened} The customer paid ${charges} times.`,
    }
  }
  const isProtected = path !== '/demo/payments/unprotected'
  const isFinished = isProtected
    ? story?.record?.status != null
    : attempts.some(({ heard }) => heard?.status === 201)
  if (charges === 1 && isFinished) {
    const text = `${happened}${finisher(story?.attempts.at(-1)?.actor, crashes)}${missed(unmet)}`
    return { state: 'good', short: '✓ exactly one', text }
  }
  if (isFinished) return { state: 'open', short: '○ not charged', text: happened }
  return { state: 'open', short: '◔ unfinished', text: `${happened} Not finished yet.` }
}

function finisher(actor: 'request' | 'completer' | undefined, crashes: number): string {
  if (actor === 'completer') return ' The completer finished it, without the client.'
  return crashes > 0 ? ' The client’s retry finished it.' : ''
}

/** What was asked for and did not come: the payment was finished before. */
function missed(unmet: readonly string[]): string {
  return unmet.length === 0 ? '' : ` Finished before it could meet ${unmet.join(' and ')}.`
}

/** A key as it is shown. */
export function shortKey(key: string): string {
  return `${key.slice(0, 4)}…`
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
