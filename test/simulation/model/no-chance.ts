import { Chance } from '../../engine/chance.ts'

/** Nothing is left to chance: the checker decides. */
export class NoChance extends Chance {
  override happens(): boolean {
    return false
  }

  override fraction(): number {
    return 0
  }

  override pick<T>(first: T): T {
    return first
  }
}
