import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this run is `npm run proof`. */
    readonly isProof: boolean
  }
}

/**
 * What a test goes through: a few rounds in `npm test`, many in `npm run proof`. The proof runs every test
 * file that imports this function once more, with what is given for it.
 */
export function atLength<Length>(inTest: Length, inProof: Length): Length {
  return inject('isProof') ? inProof : inTest
}
