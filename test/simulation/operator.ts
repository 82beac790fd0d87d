/**
 * The person who settles dead letters, by what is known of the world.
 *
 * @module
 */

import type { Chance } from '../engine/chance.ts'
import type { LetterRow } from './database/tables.ts'
import { tokenOf } from './ledger.ts'
import type { World } from './world.ts'

/** One person, with time for one letter at a time. */
export class Operator {
  readonly #world: World
  readonly #chance: Chance

  constructor(world: World, chance: Chance) {
    this.#world = world
    this.#chance = chance
  }

  /** Letters that nobody has settled. */
  get open(): number {
    return this.#open().length
  }

  /** Looks at a letter and decides. */
  act(): void {
    const open = this.#open()
    const letter = open[Math.floor(this.#chance.fraction() * open.length)]
    const node = this.#world.pickNode(this.#chance.fraction())
    if (letter === undefined || node === undefined) return
    const decision = { author: 'ada', note: 'Looked at the ledger.' }
    const body = `"${letter.key} settled ${letter.letter}"`
    const way = this.#way(letter)
    const settle = () => {
      switch (this.#carelessWay(letter) ?? way) {
        case 'happened':
          return node.letters.happened(letter.letter, { status: 201, body }, decision)
        case 'resume':
          return node.letters.resume(letter.letter, decision)
        case 'give_up':
          return node.letters.giveUp(letter.letter, { status: 410, body }, decision)
      }
    }
    // Two people who look at the same letter, or one who clicks twice.
    for (let clicks = this.#chance.pick(1, 1, 2); clicks > 0; clicks--) settle().catch(() => {})
  }

  /** What an operator decides who does not look; `undefined` for one who does. */
  #carelessWay(letter: LetterRow): 'happened' | 'resume' | 'give_up' | undefined {
    const { options, checks, network, tables } = this.#world
    const isPlanned = options.plan !== undefined && letter.point !== null
    if (!isPlanned || network.isHealed || !this.#chance.happens(options.rates.careless)) return
    const way = this.#chance.pick('happened', 'resume', 'resume', 'give_up')
    const isDone = this.#isCalled(letter)
    checks.note(`operator says ${way} without a look`)
    if (way === 'resume' && isDone) checks.note('operator resumes what happened')
    if (way === 'happened' && !isDone) checks.note('operator answers what did not happen')
    if (tables.records.get(letter.id)?.made !== letter.made) checks.note('operator is late')
    return way
  }

  /** Whether the provider of a planned operation has acted on the call that the letter stopped at. */
  #isCalled({ point, input }: LetterRow): boolean {
    const { options, ledger } = this.#world
    const versions = options.plan?.versions ?? []
    const token = tokenOf(input)
    const isAt = (site: string) => versions.some(({ names }) => names.get(site) === point)
    return ledger.deeds.some((deed) => deed.token === token && isAt(deed.site))
  }

  #way(letter: LetterRow): 'happened' | 'resume' | 'give_up' {
    const { outside, checks, nodes, network } = this.#world
    if (checks.isReplaced(letter.id, letter.made)) return 'give_up'
    const isQuiet =
      network.inFlight === 0 &&
      nodes.every(({ machine }) => machine.state !== 'frozen') &&
      (outside.running.get(letter.id) ?? 0) === 0
    const isDone =
      letter.point === null
        ? outside.effects.some(({ owner }) => checks.makingOf(owner) === letter.made)
        : this.#isCalled(letter) || (letter.point === 'charged' && this.#isNoticed(letter))
    if (isDone) return this.#chance.pick('happened', 'give_up')
    if (letter.cause === 'graph_changed' && network.isHealed) return 'give_up'
    return isQuiet ? this.#chance.pick('resume', 'resume', 'give_up') : 'give_up'
  }

  /** Whether the call that must not be repeated was carried out. */
  #isNoticed({ id }: LetterRow): boolean {
    const { outside, tables } = this.#world
    const rides = tables.rows.filter((row) => row.id === id && row.what === 'ride')
    return outside.charges.some(
      ({ ride, point }) => point === 'charged' && rides.some(({ by }) => by === ride),
    )
  }

  #open(): readonly LetterRow[] {
    return this.#world.tables.letters.filter(({ settledAt }) => settledAt === null)
  }
}
