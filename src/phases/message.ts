/** What was thrown, in words, for the history of a record. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  // PostgreSQL takes no zero in a text, and a history needs no novel.
  return text.replaceAll('\0', '').slice(0, 2000)
}
