/**
 * What a hit rate says, in words.
 *
 * @module
 */

/** A band of hit rates. */
export type HitRateBand = 'quiet' | 'healthy' | 'watch' | 'investigate' | 'not_enough_data'

/** A hit rate, judged. */
export interface HitRate {
  readonly band: HitRateBand
  /** The band as it is shown. */
  readonly label: string
  /** What the band reaches over. */
  readonly range: string
  /** What it may mean. */
  readonly meaning: string
  /** From 0 to 1; `null` when nothing was checked. */
  readonly rate: number | null
}

/** Fewer checks than this say nothing. */
const CHECKED_MIN = 100

const BANDS: Readonly<Record<HitRateBand, Omit<HitRate, 'band' | 'rate'>>> = {
  quiet: {
    ...{ label: 'Quiet', range: 'under 1 %' },
    meaning: 'Hardly anything is sent twice. Do clients send the same key when they retry?',
  },
  healthy: {
    ...{ label: 'Healthy', range: '1 to 5 %' },
    meaning: 'Clients retry now and then, and get the answer they missed.',
  },
  watch: {
    ...{ label: 'Watch', range: 'over 5 to 20 %' },
    meaning: 'Clients retry more than usual. Look for time-outs and slow operations.',
  },
  investigate: {
    ...{ label: 'Investigate', range: 'over 20 %' },
    meaning:
      'A client repeats itself, or its keys are not unique. See who, by operation and caller.',
  },
  not_enough_data: {
    ...{ label: 'Not enough data', range: 'under 100 checks' },
    meaning: 'Too few requests were checked to say anything.',
  },
}

/**
 * Judges how many of the checked requests were hits: under 1 % quiet, to 5 % healthy, to 20 % watch,
 * beyond that investigate; under 100 checks there is not enough data.
 */
export function hitRate({ hit, checked }: { hit: number; checked: number }): HitRate {
  const band = bandOf(hit, checked)
  return { band, ...BANDS[band], rate: checked > 0 ? hit / checked : null }
}

function bandOf(hit: number, checked: number): HitRateBand {
  // Multiplied rather than divided: whole numbers meet the edges exactly.
  const percents = hit * 100
  if (checked < CHECKED_MIN) return 'not_enough_data'
  if (percents < checked) return 'quiet'
  if (percents <= 5 * checked) return 'healthy'
  return percents <= 20 * checked ? 'watch' : 'investigate'
}
