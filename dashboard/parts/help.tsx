/**
 * The help: shortcuts, their switch, and what the states mean.
 *
 * @module
 */

import { prefs } from '../prefs.ts'
import { useStore } from '../store.ts'
import { STATES, t } from '../strings.ts'
import { Icon } from './icon.tsx'
import { Dialog } from './ui.tsx'

/** The help. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  const { hasShortcuts } = useStore(prefs)
  return (
    <Dialog title={t.help.title} onClose={onClose}>
      <label class="check">
        <input
          type="checkbox"
          checked={hasShortcuts}
          onChange={(event) => prefs.update({ hasShortcuts: event.currentTarget.checked })}
        />
        {t.help.use}
      </label>
      <table>
        <caption>{t.help.shortcuts}</caption>
        <thead>
          <tr>
            <th scope="col">{t.help.keys}</th>
            <th scope="col">{t.help.what}</th>
          </tr>
        </thead>
        <tbody>
          {t.help.rows.map(([keys, what]) => (
            <tr>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>{t.help.words}</h3>
      <dl class="facts">
        {Object.values(STATES).map(([word, sign, meaning]) => (
          <>
            <dt>
              <Icon name={sign} /> {word}
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" class="main" onClick={onClose}>
          {t.help.close}
        </button>
      </div>
    </Dialog>
  )
}
