import type { ModelConfig } from './model.ts'

const A = { key: 'k1', body: 'a' }
const B = { key: 'k1', body: 'b' }
const OTHER = { key: 'k2', body: 'a' }
const THREE = [[A], [A], [A]]
const MIXED = [[A], [A], [B]]
const TWO_KEYS = [
  [A, OTHER],
  [OTHER, A],
]

/** Configurations small enough for every run of the tests. */
export const SMALL: readonly ModelConfig[] = [
  {
    ...{ name: 'lease: 3 on 1 key; crash', mode: 'lease', asked: THREE },
    budget: { crash: 1 },
  },
  {
    ...{ name: 'lease: 2 on 1 key; crash, lapse', mode: 'lease', asked: [[A], [A]] },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'lease, marked effect: 2 on 1 key; crash, lapse', mode: 'lease', asked: [[A], [A]] },
    options: { marksEffect: true },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'transaction: 3 on 1 key, another body; crash', mode: 'transaction', asked: MIXED },
    budget: { crash: 1 },
  },
  {
    ...{ name: 'transaction: 2 on 1 key; crash, lapse', mode: 'transaction', asked: [[A], [A]] },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'phases: 2 on 1 key; crash', mode: 'phases', asked: [[A], [A]] },
    budget: { crash: 1 },
  },
  {
    ...{ name: 'phases: 1 on 1 key; crash, lapse', mode: 'phases', asked: [[A]] },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'lease: 2 on 1 key; lapse, retry', mode: 'lease', asked: [[A], [A]] },
    budget: { lapse: 1, retry: 1 },
  },
  {
    ...{ name: 'lease: 1 on 1 key; crash, expiry, reaper', mode: 'lease', asked: [[A]] },
    budget: { crash: 1, expire: 1, reap: 1 },
  },
  {
    ...{ name: 'lease: 1 on 1 key; crash, lapse, completer, person', mode: 'lease', asked: [[A]] },
    budget: { crash: 1, lapse: 1, complete: 1, settle: 1 },
  },
  {
    ...{ name: 'lease: 3 on 1 key; crash, operator', mode: 'lease', asked: THREE },
    budget: { crash: 1, release: 1 },
  },
  {
    ...{ name: 'phases: 1 on 1 key; crash, completer', mode: 'phases', asked: [[A]] },
    budget: { crash: 1, complete: 1 },
  },
  {
    ...{ name: 'phases: 1 on 1 key; operator, completer', mode: 'phases', asked: [[A]] },
    budget: { release: 1, complete: 1 },
  },
  {
    ...{ name: 'phases: 1 on 1 key; expiry, retry', mode: 'phases', asked: [[A]] },
    budget: { expire: 1, retry: 1 },
  },
  {
    ...{ name: 'lease: 3 on 1 key; crash, lapse', mode: 'lease', asked: THREE },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'lease: 2 on 2 keys; crash', mode: 'lease', asked: TWO_KEYS },
    budget: { crash: 1 },
  },
  {
    ...{ name: 'transaction: 2 on 2 keys; crash', mode: 'transaction', asked: TWO_KEYS },
    budget: { crash: 1 },
  },
]

/** Those that take minutes. */
export const LARGE: readonly ModelConfig[] = [
  {
    ...{ name: 'lease, waiting: 2 on 1 key; lapse', mode: 'lease', asked: [[A], [A]] },
    options: { waitMs: 900 },
    budget: { lapse: 1 },
  },
  {
    ...{ name: 'transaction: 2 on 1 key; expiry, retry', mode: 'transaction', asked: [[A], [A]] },
    budget: { expire: 1, retry: 1 },
  },
  {
    ...{ name: 'lease: 3 on 1 key; crash, lapse, retry', mode: 'lease', asked: THREE },
    budget: { crash: 1, lapse: 1, retry: 1 },
  },
  {
    ...{ name: 'lease: 3 on 1 key, another body; crash, lapse', mode: 'lease', asked: MIXED },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'lease, run again: 3 on 1 key; lapse', mode: 'lease', asked: THREE },
    options: { afterCrash: 'rerun' },
    budget: { lapse: 1 },
  },
  {
    ...{ name: 'lease, marked effect: 3 on 1 key; crash, lapse', mode: 'lease', asked: THREE },
    options: { marksEffect: true },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'lease, waiting: 2 on 1 key; crash, lapse', mode: 'lease', asked: [[A], [A]] },
    options: { waitMs: 900 },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{
      name: 'lease: 2 on 1 key; crash, expiry, reaper, person',
      mode: 'lease',
      asked: [[A], [A]],
    },
    budget: { crash: 1, expire: 1, reap: 1, complete: 1, settle: 1 },
  },
  {
    ...{ name: 'lease: 2 on 2 keys; crash, lapse', mode: 'lease', asked: TWO_KEYS },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{
      name: 'transaction: 3 on 1 key, another body; crash, lapse',
      mode: 'transaction',
      asked: MIXED,
    },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'lease: 3 on 1 key; expiry, retry', mode: 'lease', asked: THREE },
    budget: { expire: 1, retry: 1 },
  },
  {
    ...{ name: 'lease: 2 on 1 key; expiry, reaper', mode: 'lease', asked: [[A], [A]] },
    budget: { expire: 1, reap: 1 },
  },
  {
    ...{ name: 'phases: 1 on 1 key; expiry, reaper', mode: 'phases', asked: [[A]] },
    budget: { expire: 1, reap: 1 },
  },
  {
    ...{ name: 'phases: 3 on 1 key; crash', mode: 'phases', asked: THREE },
    budget: { crash: 1 },
  },
  {
    ...{ name: 'phases: 2 on 2 keys; crash', mode: 'phases', asked: [[A], [OTHER]] },
    budget: { crash: 1 },
  },
  {
    ...{ name: 'phases: 2 on 1 key; crash, lapse', mode: 'phases', asked: [[A], [A]] },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{
      name: 'phases: 1 on 1 key; crash, lapse, completer, person',
      mode: 'phases',
      asked: [[A]],
    },
    budget: { crash: 1, lapse: 1, complete: 1, settle: 1 },
  },
  {
    ...{ name: 'lease: 2 on 2 keys; crash, lapse, retry', mode: 'lease', asked: TWO_KEYS },
    budget: { crash: 1, lapse: 1, retry: 1 },
  },
  {
    ...{ name: 'lease: 3 on 1 key; crash, lapse, retry, operator', mode: 'lease', asked: THREE },
    budget: { crash: 1, lapse: 1, retry: 1, release: 1 },
  },
  {
    ...{ name: 'lease, waiting: 3 on 1 key; lapse', mode: 'lease', asked: THREE },
    options: { waitMs: 900 },
    budget: { lapse: 1 },
  },
  {
    ...{ name: 'lease: 3 on 1 key; crash, expiry, retry', mode: 'lease', asked: THREE },
    budget: { crash: 1, expire: 1, retry: 1 },
  },
  {
    ...{ name: 'lease, run again: 3 on 1 key; crash, lapse', mode: 'lease', asked: THREE },
    options: { afterCrash: 'rerun' },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'transaction: 2 on 2 keys; crash, lapse', mode: 'transaction', asked: TWO_KEYS },
    budget: { crash: 1, lapse: 1 },
  },
  {
    ...{ name: 'lease: 2 on 1 key; crash, expiry, reaper', mode: 'lease', asked: [[A], [A]] },
    budget: { crash: 1, expire: 1, reap: 1 },
  },
  {
    ...{
      name: 'lease: 2 on 1 key; crash, lapse, completer, person',
      mode: 'lease',
      asked: [[A], [A]],
    },
    budget: { crash: 1, lapse: 1, complete: 1, settle: 1 },
  },
]
