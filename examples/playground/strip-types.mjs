/** Takes the types out of the page's TypeScript, in a thread of its own. */

import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

// Not imported: the loader that runs the server would look through all of the compiler first.
const typescript = createRequire(import.meta.url)('typescript')
const { ModuleKind, ScriptTarget } = typescript
const compilerOptions = {
  ...{ module: ModuleKind.ESNext, target: ScriptTarget.ES2022 },
  verbatimModuleSyntax: true,
}
const entries = Object.entries(workerData).map(([name, source]) => {
  const { outputText } = typescript.transpileModule(source, { compilerOptions, fileName: name })
  return [name, outputText]
})
parentPort.postMessage(Object.fromEntries(entries), [])
