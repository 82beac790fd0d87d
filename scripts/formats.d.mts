/** What `exports` says of an entry. */
export interface Conditions {
  readonly module: string
  readonly import: { readonly types: string; readonly node: string; readonly default: string }
  readonly require: { readonly types: string; readonly default: string }
}

export function conditionsOf(name: string): Conditions
export function typesVersionsOf(name: string): readonly string[]
export function nameOf(target: unknown): string | undefined
