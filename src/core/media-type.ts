/**
 * Media types, as far as bodies of that type are read here.
 *
 * @module
 */

/** The media type without parameters: a retry may well say `charset` where the first try did not. */
export function essenceOf(contentType: string | null | undefined): string {
  if (contentType == null) return ''
  const end = contentType.indexOf(';')
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/** Whether a body of the type is JSON. */
export function isJson(essence: string): boolean {
  return essence.endsWith('/json') || essence.endsWith('+json')
}

/** Whether a body of the type is a form that can be read as text. */
export function isForm(essence: string): boolean {
  return essence === 'application/x-www-form-urlencoded'
}
