/**
 * Loaded by a path of its own. If the page's script does not run, says where the server takes the
 * dashboard to be and what the browser sees instead.
 *
 * @module
 */

const WAIT_MS = 4000

function tell(): void {
  const { dataset } = document.documentElement
  const place = document.querySelector('#mount-check')
  if (dataset['started'] !== undefined || place === null) return
  const sees = location.pathname
  place.textContent = `The script of this page did not arrive. The server takes the dashboard to be mounted at ${dataset['mountedAt']}, the browser sees ${sees}. Set the option basePath to the path that the browser sees, or have the proxy send X-Forwarded-Prefix.`
}

addEventListener('load', tell)
setTimeout(tell, WAIT_MS)
