import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this run is `npm run proof`. */
    readonly isProof: boolean
  }
}

/**
 * How often a test repeats itself: a few times in `npm test`, many times in `npm run proof`. The proof
 * runs every test file that imports this function once more, with the larger number.
 */
export function atLength(inTest: number, inProof: number): number {
  return inject('isProof') ? inProof : inTest
}
