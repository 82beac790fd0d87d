/**
 * What a handler is told whose claim was refused together with its first statement.
 *
 * @module
 */

import { DUPLICATE_REQUEST } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'

/**
 * The request is a duplicate, or its key is taken: the statement was not executed, and no other on
 * this `tx` will be. Whatever the handler returns or throws now is discarded, and the request gets
 * what is due to it: the stored answer, or a refusal. Code `reprise-duplicate-request`.
 */
export class DuplicateRequest extends RepriseError {
  constructor(options?: ErrorOptions) {
    super(DUPLICATE_REQUEST, undefined, options)
  }
}
