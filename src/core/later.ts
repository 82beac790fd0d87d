/**
 * Values that are there, or come later. To await one that is there costs an object, two turns of the
 * queue and what is left of the function, kept alive; most are there.
 *
 * @module
 */

/** Whether a value comes later. */
export function isLater<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}
