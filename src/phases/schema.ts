/**
 * Input through Standard Schema: whatever library the app validates with.
 *
 * @module
 */

import { INPUT_INVALID } from '../core/error-table.ts'
import { isLater } from '../core/later.ts'
import type { Rejected } from '../engine/servable.ts'

/** One thing that is wrong with an input. */
export interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a schema makes of a value. */
export type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

/** A schema of zod, valibot, arktype … (Standard Schema v1). */
export interface Schema<Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

/** An input that the schema does not take. */
export interface InvalidInput {
  readonly issues: readonly { readonly path: string; readonly message: string }[]
}

/** What becomes of an input: what the schema made of it, what is wrong with it, or what was thrown. */
export type Verdict<Output> =
  | { readonly value: Output }
  | InvalidInput
  | { readonly thrown: unknown }

/** Validates `value`. Never throws, and gives a promise only where the schema does. */
export function validate<Output>(
  schema: Schema<Output>,
  value: unknown,
): Verdict<Output> | Promise<Verdict<Output>> {
  try {
    const result = schema['~standard'].validate(value)
    if (!isLater(result)) return verdictOf(result)
    return Promise.resolve(result).then(verdictOf).catch(thrown)
  } catch (error) {
    return thrown(error)
  }
}

/** The input could not be judged. */
export function thrown(error: unknown): { readonly thrown: unknown } {
  return { thrown: error }
}

function verdictOf<Output>(result: Validation<Output>): Verdict<Output> {
  if (result.issues === undefined) return { value: result.value }
  return { issues: result.issues.map(({ path, message }) => ({ path: pathOf(path), message })) }
}

/** The answer to it: names the first thing that is wrong, and lists them all. */
export function rejected({ issues }: InvalidInput): Rejected {
  const [issue] = issues
  const detail = issue?.path ? `${issue.path}: ${issue.message}` : (issue?.message ?? 'Invalid')
  const occurrence = { ...INPUT_INVALID, detail, members: { errors: issues } }
  return { outcome: 'rejected', occurrence }
}

function pathOf(path: Issue['path'] = []): string {
  return path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
}
