import { Blocked } from './database/session.ts'
import type { Wire } from './wire.ts'

/** A wire without a way: everything is carried out at once, or as soon as its lock is free. */
export const directWire: Wire = {
  async ask({ apply }) {
    for (;;) {
      try {
        return apply()
      } catch (error) {
        if (!(error instanceof Blocked)) throw error
        await new Promise<void>((resolve) => {
          error.session.onEnd(resolve)
        })
      }
    }
  },
  notify: (_label, wake) => wake(),
}
