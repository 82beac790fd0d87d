/**
 * Several listeners where one is asked for.
 *
 * @module
 */

import { type EventType, emit, type RepriseEvent } from '../engine/events.ts'

/** A listener that tells all of them, in order. One that throws keeps nothing from the others. */
export function combine<E>(
  ...listeners: readonly (((event: E) => void) | undefined)[]
): (event: E) => void {
  return (event) => {
    for (const listener of listeners) emit(listener, event)
  }
}

/** What to call on which event. */
export type Hooks = { readonly [Type in EventType]?: (event: RepriseEvent) => void }

/**
 * A listener that calls the hook of each event's type. A hook that throws breaks nothing.
 *
 * @example
 * ```ts
 * onEvent: hooks({ dead_letter: ({ id }) => page(id), mismatch: ({ operation }) => warn(operation) })
 * ```
 */
export function hooks(given: Hooks): (event: RepriseEvent) => void {
  return (event) => emit(given[event.type], event)
}
