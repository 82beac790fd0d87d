import type { Tables } from '../database/tables.ts'
import type { Node } from '../node.ts'
import type { ModelAct, ModelProcess } from './process.ts'

/** A process, and what it has to do. */
export interface Asker {
  readonly node: Node<ModelProcess>
  readonly process: ModelProcess
  /** What it has still to be asked. */
  left: readonly { readonly key: string; readonly body: string }[]
  /** How much of it is under way. */
  running: number
}

/** The completer and the reaper, in a process that has nothing else to do. */
export function workActs(asker: Asker): readonly ModelAct[] {
  return (['completer', 'reaper'] as const).map((name) => ({
    name: `${asker.process.name} ${name}`,
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
      name: `a person settles ${key}: ${way}`,
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
