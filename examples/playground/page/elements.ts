/**
 * Elements of the page.
 *
 * @module
 */

/**
 * The element with this id.
 *
 * @throws Error when the page has none of this type
 */
export function byId<T extends HTMLElement = HTMLElement>(id: string, type?: new () => T): T {
  const element = document.getElementById(id)
  if (element === null || (type && !(element instanceof type))) throw new Error(`No #${id}`)
  // Its type was checked where one was asked for.
  return element as T
}

/** A new element, with text or elements in it. Text stays text, whatever is in it. */
export function make(
  tag: string,
  content: string | readonly (Node | string)[] = [],
  attributes: Readonly<Record<string, string>> = {},
): HTMLElement {
  const element = document.createElement(tag)
  element.append(...(typeof content === 'string' ? [content] : content))
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  return element
}

/** Changes text only where it differs, so that nothing is announced twice. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/**
 * Copies the text of an element, or, where the browser keeps the clipboard for HTTPS, selects it.
 *
 * @returns what was done, in words
 */
export async function copyOf(element: HTMLElement): Promise<string> {
  try {
    await navigator.clipboard.writeText(element.textContent)
    return 'Copied'
  } catch {
    getSelection()?.selectAllChildren(element)
    return 'Selected: press Ctrl+C'
  }
}
