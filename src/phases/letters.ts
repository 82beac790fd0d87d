/**
 * Dead letters, for the person who settles them.
 *
 * @module
 */

import { TRANSACTIONS_UNSUPPORTED } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { invalid } from '../core/options.ts'
import type { DeadLetter, LetterQuery, LetterStore, Settlement } from '../engine/letters.ts'
import { type LeaseReprise, partsOf } from '../engine/reprise.ts'
import { sealResponse } from '../engine/seal.ts'
import { Envelope } from './envelope.ts'
import { type RespondOptions, respond } from './step.ts'

/** A dead letter with everything in it opened. */
export interface OpenedLetter extends Omit<DeadLetter, 'input' | 'state'> {
  /** What the request asked for; `undefined` for a plain handler. */
  readonly input: unknown
  /** What the last phase handed on. */
  readonly state: unknown
}

/** Who decides, and why: both are kept for good. */
export interface Decision {
  readonly author: string
  readonly note: string
}

/** The answer that a person gives in the operation's place. */
export interface GivenAnswer extends RespondOptions {
  readonly status: number
  /** An object as JSON, a string as text, bytes as they are, or nothing. */
  readonly body?: unknown
}

/** What a person can do with dead letters. There are exactly three ways to settle one. */
export interface DeadLetters {
  /** The newest first. */
  list(query?: Partial<LetterQuery>): Promise<readonly DeadLetter[]>
  find(letter: string): Promise<OpenedLetter | undefined>
  /** It happened: this is the answer, for every further request. */
  happened(letter: string, answer: GivenAnswer, decision: Decision): Promise<boolean>
  /**
   * It did not happen: it is taken up where it stopped; a plain handler's key is free again. `false`
   * also when a later request has the key: there is nothing to go back to.
   */
  resume(letter: string, decision: Decision): Promise<boolean>
  /** Nobody goes on with it: this error is the answer, for every further request. */
  giveUp(letter: string, answer: GivenAnswer, decision: Decision): Promise<boolean>
}

const LIMIT = 50

/**
 * The dead letters of an engine's store. Each settlement gives `false`, and changes nothing, when the
 * letter was settled before or does not exist.
 *
 * @throws RepriseError `reprise-transactions-unsupported` when the store keeps none
 */
export function deadLetters(reprise: LeaseReprise): DeadLetters {
  const letters = lettersOf(reprise)
  const settle = async (letter: string, settling: Settling) => {
    const { author, note } = settling.decision
    if (author === '' || note === '') throw invalid('a settlement needs an author and a note')
    const found = await letters.find(letter)
    if (found === undefined) return false
    const retentionMs = reprise.options.retentionMs(found.caller)
    const finish = await finishOf(reprise, { found, retentionMs, answer: settling.answer })
    const settlement = { way: settling.way, finish, retentionMs, author, note }
    return letters.resolve(letter, settlement)
  }
  return {
    list: ({ limit = LIMIT, ...query } = {}) => letters.list({ limit, ...query }),
    async find(letter) {
      const found = await letters.find(letter)
      return found && opened(reprise, found)
    },
    happened: (letter, answer, decision) => settle(letter, { way: 'happened', answer, decision }),
    resume: (letter, decision) => settle(letter, { way: 'resume', answer: null, decision }),
    giveUp: (letter, answer, decision) => settle(letter, { way: 'give_up', answer, decision }),
  }
}

interface Settling {
  readonly way: Settlement['way']
  readonly answer: GivenAnswer | null
  readonly decision: Decision
}

async function finishOf(
  { options }: LeaseReprise,
  {
    found,
    retentionMs,
    answer,
  }: { found: DeadLetter; retentionMs: number; answer: GivenAnswer | null },
): Promise<Settlement['finish']> {
  if (answer === null) return null
  const { status, body, ...rest } = answer
  const { response, resource } = respond(status, body, rest)
  return { response: await sealResponse(options, found.id, response), resource, retentionMs }
}

async function opened({ options }: LeaseReprise, letter: DeadLetter): Promise<OpenedLetter> {
  const envelope = new Envelope(options, letter.id)
  const { input, state } = letter
  return {
    ...letter,
    input: input === null ? undefined : (await envelope.openInput(input)).input,
    state: state === null ? undefined : (await envelope.openState(state)).state,
  }
}

function lettersOf(reprise: LeaseReprise): LetterStore {
  const { store } = partsOf(reprise).context
  if (store.work !== undefined) return store.work.letters
  throw new RepriseError(
    TRANSACTIONS_UNSUPPORTED,
    `The ${store.name} store keeps no dead letters; use PostgreSQL`,
  )
}
