import { describe, expect, it } from 'vitest'
import { ietf } from '../../src/core/dialects/ietf.ts'
import {
  CORS_ALLOW_HEADERS,
  CORS_EXPOSE_HEADERS,
  type Header,
  keptHeaders,
} from '../../src/core/response.ts'

const header = (name: string): Header => [name, 'v']

describe('kept headers', () => {
  it('keeps what belongs to the answer, headers of the app included', () => {
    const headers = [
      'Content-Type',
      'Content-Encoding',
      'Content-Language',
      'Content-Disposition',
      'Content-Location',
      'Location',
      'ETag',
      'Last-Modified',
      'Link',
      'Retry-After',
      'Cache-Control',
      'Expires',
      'Vary',
      'Content-Security-Policy',
      'X-Ride-Id',
      'X-Rates',
      'Idem',
    ].map(header)

    expect(keptHeaders(headers)).toEqual(headers)
  })

  it('leaves out what belongs to one message, connection, client or sending', () => {
    const headers = [
      'Connection',
      'Keep-Alive',
      'Proxy-Connection',
      'TE',
      'Trailer',
      'Transfer-Encoding',
      'Upgrade',
      'Content-Length',
      'Date',
      'Age',
      'Server',
      'Via',
      'X-Powered-By',
      'Set-Cookie',
      'RateLimit',
      'RateLimit-Policy',
      'RateLimit-Remaining',
      'X-RateLimit-Limit',
      'X-Rate-Limit-Reset',
      'traceparent',
      'tracestate',
      'b3',
      'X-B3-TraceId',
      'X-Request-Id',
      'Request-Id',
      'X-Correlation-Id',
      'Server-Timing',
      'Access-Control-Allow-Origin',
      'Idempotency-Key',
      'X-Idempotency-Key',
      'Idempotent-Replayed',
      'Idempotent-Retry',
      'Idempotency-Stored',
      'Idempotency-Expires',
      'Idempotency-Degraded',
      'Idempotency-Body-Omitted',
      'Original-Request-Id',
      'Original-Request',
      'Stripe-Should-Retry',
    ].map(header)

    expect(keptHeaders(headers)).toEqual([])
  })

  it('compares names without regard to case', () => {
    expect(
      keptHeaders([header('DATE'), header('set-COOKIE'), header('x-ratelimit-LIMIT')]),
    ).toEqual([])
    expect(keptHeaders([header('Server')], { keep: ['SERVER'] })).toEqual([header('Server')])
    expect(keptHeaders([header('X-Shard')], { drop: ['x-shard'] })).toEqual([])
  })

  it('keeps repeated headers in order and number, as they were written', () => {
    const headers: readonly Header[] = [
      ['Link', '<a>'],
      ['X-Tag', '1'],
      ['link', '<b>'],
      ['Link', '<a>'],
    ]

    expect(keptHeaders(headers)).toEqual(headers)
  })

  it('keeps cookies only where asked to', () => {
    const cookies: readonly Header[] = [
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
    ]

    expect(keptHeaders(cookies, { cookies: true })).toEqual(cookies)
    expect(keptHeaders(cookies, { keep: ['set-cookie'] })).toEqual([])
    expect(keptHeaders(cookies, { cookies: true, drop: ['set-cookie'] })).toEqual([])
  })

  it('lets drop win over keep', () => {
    expect(keptHeaders([header('Server')], { keep: ['server'], drop: ['server'] })).toEqual([])
  })

  it('never keeps framing, even where asked to', () => {
    const headers = ['Transfer-Encoding', 'Content-Length', 'Connection']

    expect(keptHeaders(headers.map(header), { keep: headers })).toEqual([])
  })
})

describe('CORS lists', () => {
  it('allow the key and expose everything that the default dialect writes', () => {
    const { replayed, originalRequest, expires, retry } = ietf.marks

    expect(CORS_ALLOW_HEADERS).toContain(ietf.header)
    expect(CORS_EXPOSE_HEADERS).toEqual(
      expect.arrayContaining([ietf.header, replayed, originalRequest, expires, retry?.header]),
    )
    expect(CORS_EXPOSE_HEADERS).toEqual(expect.arrayContaining(['Retry-After', 'Link']))
  })
})
