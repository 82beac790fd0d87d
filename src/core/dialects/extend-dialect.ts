/**
 * Dialects of the user's own.
 *
 * @module
 */

import { OPTIONS_INVALID } from '../error-table.ts'
import { RepriseError } from '../errors.ts'
import type { ErrorFormat } from '../problem.ts'
import type { Dialect, Marks } from './dialect.ts'

/** What a dialect does differently from its base. */
export interface DialectOverrides extends Partial<Omit<Dialect, 'key' | 'marks' | 'errors'>> {
  readonly key?: Dialect['key']
  readonly marks?: Partial<Marks>
  readonly errors?: Partial<ErrorFormat>
}

/** A field name of HTTP. */
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/**
 * A dialect like `base` but for `overrides`; those of `key`, `marks`, `errors` and its statuses are
 * laid over the base's member by member.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function extendDialect(base: Dialect, overrides: DialectOverrides): Dialect {
  const dialect: Dialect = {
    ...base,
    ...overrides,
    key: { ...base.key, ...overrides.key },
    marks: { ...base.marks, ...overrides.marks },
    errors: {
      ...base.errors,
      ...overrides.errors,
      statuses: { ...base.errors.statuses, ...overrides.errors?.statuses },
    },
  }
  check(dialect)
  return dialect
}

function check({ name, header, identity, key, marks, errors }: Dialect): void {
  const fail = (what: string) => {
    throw new RepriseError(OPTIONS_INVALID, `Dialect ${JSON.stringify(name)}: ${what}`)
  }
  const { replayed, originalRequest, expires, retry } = marks
  for (const field of [header, replayed, originalRequest, expires, retry?.header ?? null]) {
    if (field !== null && !FIELD_NAME.test(field)) {
      fail(`${JSON.stringify(field)} is not a header name`)
    }
  }
  // The type says so too, but not every user has types, and a key without a caller leaks answers.
  const parts: readonly string[] = identity
  if (!parts.includes('caller') || !parts.includes('key')) fail('identity needs caller and key')
  if ((key.lengthMin ?? 1) > (key.lengthMax ?? 255)) fail('key.lengthMin is over key.lengthMax')
  for (const status of Object.values(errors.statuses)) {
    const isError = Number.isInteger(status) && status >= 400 && status <= 599
    if (!isError) fail(`${status} is not the status of an error`)
  }
}
