/**
 * Whether there is a network.
 *
 * @module
 */

/** Tells whether it is worth while to send anything. */
export interface Connectivity {
  isOnline(): boolean
  /** Calls back whenever the network has come back; the result ends that. */
  onOnline(callback: () => void): () => void
}

/** What the browser knows; elsewhere always online, and attempts show the truth. */
export const systemConnectivity: Connectivity = {
  isOnline: () => globalThis.navigator?.onLine ?? true,
  onOnline(callback) {
    // Not every runtime has them.
    globalThis.addEventListener?.('online', callback)
    return () => globalThis.removeEventListener?.('online', callback)
  },
}
