/**
 * What an API publishes about its keys: the specification of a route, and the pages of the errors.
 *
 * @module
 */

export {
  type ErrorPage,
  type ErrorPageOptions,
  errorPage,
} from '../error-pages/error-page.ts'
export {
  type KeyPlace,
  type PublishedError,
  type PublishedFates,
  type PublishedKey,
  type PublishedPolicy,
  publishedPolicy,
} from './policy.ts'
export { policyMarkdown } from './policy-markdown.ts'
