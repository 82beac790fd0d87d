import { createHash } from 'node:crypto'

/** What happened, line by line; nothing is kept unless somebody will read it. */
export class Trace {
  readonly lines: string[] = []
  readonly #isKept: boolean
  readonly #now: () => number

  constructor(isKept: boolean, now: () => number) {
    this.#isKept = isKept
    this.#now = now
  }

  /** Adds a line: who, what, and what came of it. */
  add(who: string, what: string, result?: unknown): void {
    if (!this.#isKept) return
    const end = result === undefined ? '' : ` → ${summary(result)}`
    this.lines.push(`${this.#now().toFixed(2).padStart(10)}  ${who.padEnd(10)} ${what}${end}`)
  }

  /** Digest of all of it. */
  get hash(): string {
    return createHash('sha256').update(this.lines.join('\n')).digest('hex')
  }
}

/** A value in a few words. */
function summary(value: unknown): string {
  // Its text would be that of whatever has compiled it.
  if (typeof value === 'function') return 'done'
  if (typeof value !== 'object' || value === null) return String(value)
  const { outcome, claim, fence = claim, jobs, status } = value as Record<string, unknown>
  if (typeof outcome === 'string') {
    return typeof fence === 'object' ? `${outcome} ${claimText(fence)}` : outcome
  }
  if (typeof claim === 'object' && claim !== null) return claimText(claim)
  if (Array.isArray(jobs)) return `${jobs.length} jobs`
  return typeof status === 'string' ? status : 'done'
}

function claimText(claim: unknown): string {
  const { fence, owner } = claim as Record<string, unknown>
  return `fence ${String(fence)} owner ${String(owner)}`
}
