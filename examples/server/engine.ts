/**
 * How the engine of the server is set, for the node that runs it and for the documentation of what it
 * does.
 *
 * @module
 */

/** Options of the engine. */
export const ENGINE = {
  /**
   * How long a request keeps its key without a sign of life, in milliseconds. Short, because here
   * processes are killed on purpose and people wait for what comes then.
   */
  leaseMs: 3000,
} as const
