/**
 * The hidden field of forms. Alone in its file, because the browser's half of the package needs it.
 *
 * @module
 */

/** Name of the hidden field that carries the key of a form post. */
export const FORM_FIELD = 'idempotency_key'
