import type { Tables } from '../database/tables.ts'
import type { Node } from '../node.ts'
import type { Leftovers } from './leftovers.ts'
import type { ModelAct, ModelProcess } from './process.ts'

/** A process, and what it has to do. */
export interface Asker {
  readonly node: Node<ModelProcess>
  readonly process: ModelProcess
  readonly leftovers: Leftovers
  /** What it has still to be asked. */
  left: readonly { readonly key: string; readonly body: string }[]
  /** How much of it is under way. */
  running: number
  /** How many numbers it had given out when it last had nothing under way. */
  base: number
}

/** Whether nothing is under way in it: it is as it was when it started. */
export function isIdle({ process, running }: Asker): boolean {
  return process.isAlive && running === 0 && process.isAtRest
}

/** Whether something is under way in it that nothing can bring on. */
export function isStuck({ process, running }: Asker): boolean {
  return process.isAlive && running > 0 && process.isAtRest
}

/** Processes that have nothing to do; one for all that are idle. */
export function free(askers: readonly Asker[]): readonly Asker[] {
  const all = askers.filter(({ process, running, left }) => {
    return process.isAlive && running === 0 && left.length === 0
  })
  const first = all.find(isIdle)
  return all.filter((asker) => asker === first || !isIdle(asker))
}

/** The completer and the reaper, in a process that has nothing else to do. */
export function workActs(asker: Asker): readonly ModelAct[] {
  return (['completer', 'reaper'] as const).map((name) => ({
    name: () => `${asker.process.name} ${name}`,
    run: () => underway(asker, name, () => asker.node.workers[name]?.runOnce()),
  }))
}

/** A person settles each of the letters that are open. */
export function settleActs(
  tables: Tables,
  asker: Asker,
  way: 'resume' | 'give_up',
): readonly ModelAct[] {
  const { letters } = asker.node
  const decision = { author: 'ada', note: 'Looked.' }
  const open = tables.letters.filter(({ settledAt }) => settledAt === null)
  return open.map(({ letter, key }) => {
    const answer = { status: 410, body: `"${key} given up"` }
    const settle = () =>
      way === 'resume' ? letters.resume(letter, decision) : letters.giveUp(letter, answer, decision)
    return {
      name: () => `a person settles ${key}: ${way}`,
      run: () => underway(asker, `settles ${letter} ${way}`, settle),
    }
  })
}

function underway(asker: Asker, name: string, work: () => Promise<unknown> | undefined): void {
  asker.running++
  asker.process.note(name)
  const end = () => {
    if (asker.process.isAlive) asker.running--
  }
  void work()?.then(end, end)
}
