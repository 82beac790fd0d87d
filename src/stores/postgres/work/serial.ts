/** The number of a row, as an operator gives it back; `undefined` for anything that names none. */
export function serial(text: string): string | undefined {
  return /^[1-9]\d{0,17}$/.test(text) ? text : undefined
}
