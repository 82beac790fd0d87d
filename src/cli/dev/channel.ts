/**
 * Calls between the two processes of `reprise dev`: the sample API, which may be killed at any moment,
 * and the one that keeps what must not die with it.
 *
 * @module
 */

/** A call that the API makes. */
export interface ChannelCall {
  readonly number: number
  /** Such as `store.claim`. */
  readonly verb: string
  readonly values: readonly unknown[]
}

/** Its answer. */
export interface ChannelAnswer {
  readonly number: number
  readonly value?: unknown
  /** What went wrong, in words. */
  readonly error?: string
}

/** One end of a channel between processes. */
export interface ChannelEnd {
  /** `done` is told of errors, which are events of the process otherwise. */
  send?(message: unknown, done: (error: Error | null) => void): unknown
  on(event: 'message', listener: (message: unknown) => void): unknown
}

/** Calls the other process. */
export type Call = (verb: string, values: readonly unknown[]) => Promise<unknown>

/** Makes the function that calls the other process; one for each channel. */
export function caller(end: ChannelEnd): Call {
  const waiting = new Map<number, (answer: ChannelAnswer) => void>()
  let last = 0
  end.on('message', (message) => {
    // Nothing else is sent on this channel.
    const answer = message as ChannelAnswer
    waiting.get(answer.number)?.(answer)
    waiting.delete(answer.number)
  })
  return (verb, values) =>
    new Promise((resolve, reject) => {
      last += 1
      waiting.set(last, ({ value, error }) => {
        if (error === undefined) resolve(value)
        else reject(new Error(error))
      })
      const call = { number: last, verb, values } satisfies ChannelCall
      end.send?.(call, (error) => {
        if (error !== null) reject(error)
      })
    })
}

/** Answers the calls of the other process. */
export function answerCalls(
  end: ChannelEnd,
  verbs: Readonly<Record<string, (...values: never[]) => unknown>>,
): void {
  end.on('message', (message) => {
    // Nothing else is sent on this channel.
    const { number, verb, values } = message as ChannelCall
    void answer(verbs[verb], values).then((said) => {
      const reply = { number, ...said } satisfies ChannelAnswer
      // It may have been killed while it waited, and then nobody misses the answer.
      end.send?.(reply, () => {})
    })
  })
}

async function answer(
  verb: ((...values: never[]) => unknown) | undefined,
  values: readonly unknown[],
): Promise<Pick<ChannelAnswer, 'value' | 'error'>> {
  try {
    if (verb === undefined) throw new TypeError('There is no such verb.')
    // Both ends are this program, and agree on what each verb takes.
    return { value: await verb(...(values as never[])) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}
