/** Names of the bugs that can be planted into the database in memory. */
export const FLAWS = [
  'fence-unchecked',
  'fence-unchecked-in-phase',
  'fence-stands-still',
  'lease-ignored',
  'mismatch-ignored',
  'renewal-lost',
  'finish-unwritten',
  'forget-on-throw',
  'sweep-unfinished',
  'sweep-early',
  'abandoned-unburied',
  'letter-lost',
  'burial-resumable',
  'settled-twice',
  'settlement-loses-state',
  'point-forgotten',
  'state-forgotten',
  'call-unnoted',
  'taken-while-leased',
  'taken-under-same-fence',
  'staged-outside',
  'stage-lost',
  'jobs-removed-early',
  'undelivered-removed',
  'key-unreserved',
  'record-uncommitted',
] as const

/** A bug that can be planted. */
export type Flaw = (typeof FLAWS)[number]
