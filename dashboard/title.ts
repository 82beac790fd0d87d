/**
 * The title of the page.
 *
 * @module
 */

import { useEffect } from 'preact/hooks'
import { LABEL } from './session.ts'
import { t } from './strings.ts'

/** Sets the title of the page. */
export function useTitle(page: string): void {
  useEffect(() => {
    document.title = t.title(page, LABEL)
  }, [page])
}
