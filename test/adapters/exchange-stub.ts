import type { Exchange } from '../../src/adapters/exchange.ts'
import type { Execute } from '../../src/adapters/watched-handler.ts'
import { bodyDigest } from '../../src/core/fingerprint.ts'
import type { Header } from '../../src/core/response.ts'

/** A request without a framework. */
export interface Asked {
  readonly method?: string
  readonly path?: string
  readonly route?: string | null
  readonly query?: string
  readonly headers?: readonly Header[]
  readonly body?: string
}

export function exchangeOf(asked: Asked = {}): Exchange {
  const { headers = [['idempotency-key', 'key-1']], body = '{"amount":100}' } = asked
  return {
    method: asked.method ?? 'POST',
    path: asked.path ?? '/items/7',
    route: asked.route === undefined ? '/items/:id' : asked.route,
    query: asked.query ?? '',
    ip: '192.0.2.1',
    lines: (name) => headers.filter(([own]) => own === name).map(([, value]) => value),
    line: (name) => headers.find(([own]) => own === name)?.[1] ?? null,
    async digest(contentType, options) {
      const digester = bodyDigest(contentType, options)
      digester.update(Buffer.from(body))
      return digester.digest()
    },
    async body() {
      const contentType = headers.find(([own]) => own === 'content-type')?.[1] ?? null
      return { text: body, contentType }
    },
  }
}

/** A handler that answers 201. */
export const created: Execute<unknown> = async () => ({
  status: 201,
  headers: [],
  body: Buffer.from('created'),
})
