/**
 * What a run found, as it is written to `bench/results`.
 *
 * @module
 */

import type { Counts } from './count.ts'
import type { Growth } from './growth.ts'
import type { HotKey } from './hot-key.ts'
import type { ImportCost } from './imports.ts'
import type { Comparison } from './measure.ts'
import type { MemoryUse } from './memory.ts'
import type { Reaping } from './reaping.ts'
import type { Settings } from './settings.ts'
import type { Sizes } from './sizes.ts'

/** Everything that was found. */
export interface Results {
  readonly date: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly versions: Readonly<Record<string, string>>
  readonly settings: Settings
  readonly comparisons: Comparison[]
  /** With a larger young generation on both sides. */
  readonly roomy?: Comparison[]
  readonly counts: Counts[]
  readonly hotKeys: HotKey[]
  readonly imports: ImportCost[]
  sizes: Sizes | undefined
  growth?: Growth
  reaping?: Reaping
  memory?: MemoryUse[]
  /** Variants that could not be measured, and why. */
  readonly skipped: { readonly variant: string; readonly reason: string }[]
}
