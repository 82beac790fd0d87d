/**
 * The page.
 *
 * @module
 */

import './style.css'
import 'uplot/dist/uPlot.min.css'
import { render } from 'preact'
import { App } from './app.tsx'

const root = document.querySelector('#app')
if (root === null) throw new Error('There is no #app.')
document.documentElement.dataset['started'] = ''
root.textContent = ''
render(<App />, root)
