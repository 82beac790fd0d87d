/**
 * What only Node has of time: apart from the engine's port, which goes to other platforms too.
 *
 * @module
 */

/**
 * Calls back once events that have come meanwhile, such as those of other connections, were handled. As
 * it was when this was loaded: who waits for it must not depend on what tests put in its place.
 */
export const afterEvents: typeof setImmediate = setImmediate
