/**
 * Keys of webhooks: providers send an event again until it is acknowledged, and name it each time.
 *
 * @module
 */

import type { KeySource } from './options.ts'

/**
 * The message id of Svix.
 *
 * @example
 * ```ts
 * app.post('/hooks', idempotent(reprise, { key: svixId, caller: () => 'svix' }), receive)
 * ```
 */
export const svixId: KeySource<unknown> = { header: 'svix-id' }

/** The id of a delivery of GitHub, which a redelivery keeps. */
export const githubDelivery: KeySource<unknown> = { header: 'x-github-delivery' }

/**
 * The id of an event of Stripe, which is in its body. How many deliveries are pending is there too
 * and changes from one to the next: leave it out with `fingerprint: { exclude: ['pending_webhooks'] }`.
 */
export const stripeEvent: KeySource<unknown> = { field: 'id' }
