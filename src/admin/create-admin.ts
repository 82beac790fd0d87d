/**
 * Makes the operator's view of an engine's store.
 *
 * @module
 */

import { ADMIN_UNSUPPORTED } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { closeAll, closeWith } from '../engine/closing.ts'
import { type LeaseReprise, partsOf } from '../engine/reprise.ts'
import type { Admin } from './admin.ts'
import { Bulk } from './bulk.ts'
import { Changes } from './changes.ts'
import { Look } from './look.ts'
import { type AdminOptions, resolveAdmin } from './options.ts'

/**
 * Makes the operator's view of an engine's store.
 *
 * @example
 * ```ts
 * const admin = createAdmin(reprise, { operations: [createRide] })
 * const stuck = await admin.list({ states: ['stuck'] }, { limit: 50 })
 * ```
 * @throws RepriseError `reprise-admin-unsupported` where the store has none,
 * `reprise-options-invalid`
 */
export function createAdmin(reprise: LeaseReprise, options: AdminOptions = {}): Admin {
  const { context } = partsOf<unknown>(reprise)
  const { desk, name } = context.store
  if (desk === undefined) {
    const hint = name === 'memory' ? ': make it by memoryStore({ desk: memoryDesk })' : ''
    const detail = `The ${name} store has no view for operators${hint}`
    throw new RepriseError(ADMIN_UNSUPPORTED, detail)
  }
  const { clock = context.clock } = options
  const parts = { reprise, context, desk, clock, settings: resolveAdmin(options) }
  const look = new Look(parts)
  const changes = new Changes(parts)
  const bulk = new Bulk(parts, look, changes)
  const admin: Admin = {
    overview: (query) => look.overview(query),
    counts: (filter) => look.counts(filter),
    list: (filter, page) => look.list(filter, page),
    find: (id) => look.find(id),
    findByKey: (key) => look.findByKey(key),
    duplicates: (query) => look.duplicates(query),
    letters: (query) => look.letters(query),
    letter: (letter) => look.letter(letter),
    jobs: (query) => look.jobs(query),
    workers: () => look.workers(),
    audit: (query) => look.audit(query),
    recorded: () => look.recorded(),
    reveal: (id, order) => changes.reveal(id, order),
    act: (action, id, order) => changes.act(action, id, order),
    settle: (letter, settlement, order) => changes.settle(letter, settlement, order),
    retryJob: (jobId, order) => changes.retryJob(jobId, order),
    steerWorker: (worker, way, order) => changes.steerWorker(worker, way, order),
    startBatch: (action, on, order) => bulk.startBatch(action, on, order),
    batch: (batch) => bulk.batch(batch),
    cancelBatch: (batch, order) => bulk.cancelBatch(batch, order),
  }
  // What is made of it, such as a dashboard, ends with the engine.
  closeWith(context, (ms) => closeAll(admin, ms))
  return admin
}
