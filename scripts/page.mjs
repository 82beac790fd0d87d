/**
 * Builds the dashboard's page into `src/dashboard/page.generated.ts`: script and style, named by
 * their content and compressed. Does nothing if the page is as it was at the last build.
 */

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')
const page = join(root, 'dashboard')
const target = join(root, 'src/dashboard/page.generated.ts')
const TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' }

/** What the page is made of, and what makes it. */
function stamp() {
  const files = readdirSync(page, { recursive: true })
    .map((name) => join(page, String(name)))
    .filter((file) => /\.(tsx?|css)$/.test(file))
    .sort()
  // The page also has constants of the server in it.
  const texts = files.map((file) => readFileSync(file, 'utf8')).join('\n')
  const imported = new Set(texts.match(/(?<=\.\.\/)src\/[\w/.-]+\.ts(?=')/g))
  const sources = [...imported].sort().map((name) => join(root, name))
  const hash = createHash('sha256')
  for (const file of [
    ...files,
    ...sources,
    import.meta.filename,
    join(root, 'package-lock.json'),
  ]) {
    hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

async function bundle(entry) {
  const { build } = await import('vite')
  const built = await build({
    ...{ root: page, configFile: false, logLevel: 'warn' },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      ...{ write: false, target: 'es2022', minify: true, cssMinify: true, modulePreload: false },
      rolldownOptions: {
        input: join(page, entry),
        output: { codeSplitting: false, minify: true },
      },
    },
  })
  const texts = {}
  for (const part of built.output) {
    const kind = part.fileName.endsWith('.css') ? 'css' : 'js'
    texts[kind] = part.type === 'chunk' ? part.code : String(part.source)
  }
  return texts
}

function assetOf(name, kind, text) {
  const bytes = Buffer.from(text)
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }
  return {
    file: `${name}-${hash}.${kind}`,
    type: TYPES[kind],
    gzip: gzipSync(bytes, { level: 9 }),
    brotli: brotliCompressSync(bytes, quality),
  }
}

function moduleOf(names, assets, mark) {
  const entries = assets.map(
    ({ file, type, gzip, brotli }) =>
      `    '${file}': {\n      type: '${type}',\n      gzip: '${gzip.toString('base64')}',\n      brotli: '${brotli.toString('base64')}',\n    },`,
  )
  return `// Built by scripts/page.mjs from ${mark}

/** A file of the page, compressed, in base64. */
export interface PageAsset {
  readonly type: string
  readonly gzip: string
  readonly brotli: string
}

/** The page: what it loads, and the files by name. */
export const PAGE: {
  readonly names: { readonly script: string; readonly style: string; readonly check: string }
  readonly assets: Readonly<Record<string, PageAsset>>
} = {
  names: ${JSON.stringify(names)},
  assets: {
${entries.join('\n')}
  },
}
`
}

async function build() {
  const mark = stamp()
  if (existsSync(target) && readFileSync(target, 'utf8').includes(mark)) return
  const app = await bundle('main.tsx')
  const check = await bundle('mount-check.ts')
  const [script, style, checker] = [
    assetOf('app', 'js', app.js),
    assetOf('app', 'css', app.css),
    assetOf('mount-check', 'js', check.js),
  ]
  const names = { script: script.file, style: style.file, check: checker.file }
  const text = moduleOf(names, [script, style, checker], mark)
  // In one step: somebody may be reading it.
  const draft = `${target}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, target)
  const bytes = script.gzip.byteLength + style.gzip.byteLength + checker.gzip.byteLength
  console.log(`Built the dashboard's page: ${bytes} bytes gzip.`)
}

await build()
