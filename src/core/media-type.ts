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

/**
 * The boundary of a form with uploads; `undefined` for other types, and where it is missing, malformed or
 * given twice.
 */
export function boundaryOf(contentType: string | null | undefined): string | undefined {
  if (contentType == null || essenceOf(contentType) !== 'multipart/form-data') return undefined
  const parameters = contentType.slice(contentType.indexOf(';'))
  const [first, ...others] = [...parameters.matchAll(BOUNDARY)]
  return others.length > 0 ? undefined : (first?.[1] ?? first?.[2])
}

/** A parameter `boundary` of at most 70 characters (RFC 2046, 5.1.1), in quotes or without. */
const BOUNDARY =
  /;[ \t]*boundary=(?:"([\w'()+,./:=? -]{0,69}[\w'()+,./:=?-])"|([\w'()+,./:=?-]{1,70}))[ \t]*(?=;|$)/gi
