/**
 * Bundles what runs inside a runtime: the test files with a stand-in for vitest.
 *
 * @module
 */

import { join } from 'node:path'
import { build } from 'rolldown'
import type { RuntimeName } from './programs.ts'

const here = import.meta.dirname

/** Bundles a runtime's entry; answers the folder, in which `main.mjs` is it. */
export async function bundleFor(name: RuntimeName): Promise<string> {
  const folder = join(here, '.built', name)
  // workerd is given one file with all in it; the others find packages as they do for their users.
  const isWhole = name === 'workerd'
  await build({
    input: { main: join(here, 'inside', `${name}.ts`) },
    platform: 'node',
    // The package has no side effects, but its tests are nothing else.
    treeshake: false,
    checks: { eval: false },
    external: isWhole ? /^(?:node|cloudflare):/ : isPackage,
    resolve: {
      alias: { vitest: join(here, 'inside', 'vitest.ts') },
      ...(isWhole && { conditionNames: ['workerd', 'import', 'default'] }),
    },
    output: {
      ...{ dir: folder, format: 'esm', codeSplitting: !isWhole },
      ...{ entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' },
    },
  })
  return folder
}

function isPackage(id: string): boolean {
  return /^[a-z@]/.test(id) && id !== 'vitest' && !id.startsWith('@vitest/')
}
