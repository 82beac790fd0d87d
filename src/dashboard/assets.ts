/**
 * Script and style of the page: named by their content, compressed when the package was built.
 *
 * @module
 */

import { brotliDecompressSync } from 'node:zlib'
import { PAGE } from './page.generated.ts'
import { headers, refuse } from './reply.ts'

/** The names of what the page loads. */
export const NAMES: { readonly script: string; readonly style: string; readonly check: string } =
  PAGE.names

const YEAR_SECONDS = 31_536_000

/** One of the files; an unknown name is an unknown file, never the page. */
export function assetOf(name: string, request: Request): Response {
  const asset = new Map(Object.entries(PAGE.assets)).get(name)
  if (asset === undefined) {
    return refuse({ status: 404, code: 'not_found', message: 'There is no such file.' })
  }
  const encoding = encodingOf(request.headers.get('accept-encoding') ?? '')
  const compressed = Buffer.from(encoding === 'gzip' ? asset.gzip : asset.brotli, 'base64')
  const body = encoding === 'identity' ? brotliDecompressSync(compressed) : compressed
  const more: Record<string, string> = {
    'Cache-Control': `public, max-age=${YEAR_SECONDS}, immutable`,
    Vary: 'Accept-Encoding',
    'Content-Length': String(body.byteLength),
  }
  if (encoding !== 'identity') more['Content-Encoding'] = encoding
  const isHead = request.method === 'HEAD'
  return new Response(isHead ? null : body, { headers: headers(asset.type, more) })
}

/** What the client can open; what it refuses by `q=0` does not count. */
function encodingOf(accepted: string): 'br' | 'gzip' | 'identity' {
  const names = accepted
    .toLowerCase()
    .split(',')
    .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map((part) => part.split(';')[0]?.trim())
  if (names.includes('br')) return 'br'
  return names.includes('gzip') ? 'gzip' : 'identity'
}
