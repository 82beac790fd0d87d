import { hash } from 'node:crypto'

/**
 * The number of an advisory lock, as PostgreSQL takes it: 64 bits of a digest over the parts. The
 * first part keeps our locks apart from those that the user's own code takes.
 */
export function lockNumber(...parts: readonly string[]): string {
  const digest = hash('sha256', JSON.stringify(['reprise', ...parts]), 'buffer')
  return digest.readBigInt64BE().toString()
}
