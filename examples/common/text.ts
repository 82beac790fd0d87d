/**
 * Text that comes from outside.
 *
 * @module
 */

import { z } from 'zod'

/** Text of 1 to `charactersMax` characters, without the zero that PostgreSQL can not hold. */
export function text(charactersMax: number): z.ZodString {
  const checked = z.string().check((context) => {
    // Counted as PostgreSQL counts them: an emoji is one.
    const characters = Array.from(context.value).length
    if (characters === 0 || characters > charactersMax) {
      const message = `must have 1 to ${charactersMax} characters`
      context.issues.push({ code: 'custom', message, input: context.value })
    }
    if (context.value.includes('\0')) {
      const message = 'must not contain the character U+0000'
      context.issues.push({ code: 'custom', message, input: context.value })
    }
  })
  return checked.meta({ minLength: 1, maxLength: charactersMax })
}

/** What is wrong with a value, in words, and the member that it is about. */
export function faultOf({ issues }: z.ZodError): { message: string; param: string | null } {
  const [issue] = issues
  const param = issue?.path.join('.') || null
  const what = issue?.message ?? 'is invalid'
  return {
    param,
    message: param === null ? `The body is not valid: ${what}.` : `${param}: ${what}.`,
  }
}
