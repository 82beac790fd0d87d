import type { Clock } from '../../src/engine/clock.ts'
import type { Store } from '../../src/engine/store.ts'

/** What the way to the store and back does to one call. */
export interface Trouble {
  /** Milliseconds until the call reaches the store; `Infinity` is never. */
  readonly toMs?: number
  /** Milliseconds until its reply is back; `Infinity` is never. */
  readonly backMs?: number
  /** The caller gets an error: before the call could take effect, or after it did. */
  readonly fails?: 'before' | 'after'
}

export interface UnreliableOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Asked at each call. */
  readonly trouble: (verb: string) => Trouble | undefined
  /** Awaited before a reply is handed over: a caller that is frozen gets it later, or never. */
  readonly arrive?: () => Promise<void>
  /** Told what the store answered, at the instant of its answer. */
  readonly onAnswer?: (verb: string, args: readonly unknown[], answer: unknown) => void
}

/** A store behind a network that delays, loses and breaks calls as it is told. */
export function unreliable(store: Store, options: UnreliableOptions): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function' || typeof name !== 'string') return member
      return (...args: unknown[]) => {
        const call = async () => {
          // Every member of the port that is a function is one of its verbs.
          const answer = await (Reflect.apply(member, target, args) as Promise<unknown>)
          options.onAnswer?.(name, args, answer)
          return answer
        }
        return travel(options, name, call)
      }
    },
  })
}

async function travel<T>(
  { clock, trouble, arrive }: UnreliableOptions,
  verb: string,
  call: () => Promise<T>,
): Promise<T> {
  const { toMs = 0, backMs = 0, fails } = trouble(verb) ?? {}
  await delay(clock, toMs)
  const answer = fails === 'before' ? undefined : { value: await call() }
  await delay(clock, backMs)
  await arrive?.()
  if (answer === undefined || fails === 'after') throw new Error('connection reset')
  return answer.value
}

async function delay(clock: Pick<Clock, 'after'>, ms: number): Promise<void> {
  if (ms === 0) return
  await new Promise<void>((resolve) => {
    if (ms !== Number.POSITIVE_INFINITY) clock.after(ms, resolve)
  })
}
