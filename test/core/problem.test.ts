import { describe, expect, it } from 'vitest'
import { type ClientErrorCode, ERRORS } from '../../src/core/error-table.ts'
import { type Occurrence, problemOf, renderProblem } from '../../src/core/problem.ts'
import type { CapturedResponse } from '../../src/core/response.ts'

const CODES = Object.keys(ERRORS).filter((code): code is ClientErrorCode =>
  code.startsWith('idempotency-'),
)

const SECRET = 'sk_live_key_of_the_client'

function bodyOf(response: CapturedResponse): unknown {
  return JSON.parse(new TextDecoder().decode(response.body))
}

function headerOf(response: CapturedResponse, name: string): string | undefined {
  return response.headers.find(([written]) => written === name)?.[1]
}

describe('problem documents', () => {
  for (const code of CODES) {
    it(`${code} has all members, the real status, a URN for its type and no link`, () => {
      const response = renderProblem({ ...ERRORS[code] })
      const { status, title, hint, retryable } = ERRORS[code]

      expect(bodyOf(response)).toEqual({
        type: `urn:reprise:error:${code}`,
        title,
        status,
        detail: hint,
        code,
        retryable,
      })
      expect(response.status).toBe(status)
      expect(headerOf(response, 'Content-Type')).toBe('application/problem+json')
      expect(headerOf(response, 'Link')).toBeUndefined()
    })

    it(`${code} says when to come back if and only if that can help`, () => {
      const response = renderProblem({ ...ERRORS[code], retryAfterSeconds: 3 })

      expect(headerOf(response, 'Retry-After')).toBe(ERRORS[code].retryable ? '3' : undefined)
    })

    it(`${code} does not repeat the key`, () => {
      const { headers, body } = renderProblem({ ...ERRORS[code], key: SECRET })

      expect(JSON.stringify(headers) + new TextDecoder().decode(body)).not.toContain(SECRET)
    })
  }

  it('put what happened before what to do', () => {
    const { detail } = problemOf({
      ...ERRORS['idempotency-key-invalid'],
      detail: 'The key is too long',
    })

    expect(detail).toBe(`The key is too long. ${ERRORS['idempotency-key-invalid'].hint}`)
  })

  it('link to the pages of the app where it publishes its own', () => {
    const response = renderProblem({
      ...ERRORS['idempotency-key-missing'],
      docsUrl: 'https://api.example/errors',
    })

    expect(bodyOf(response)).toMatchObject({
      type: 'https://api.example/errors#idempotency-key-missing',
    })
    expect(headerOf(response, 'Link')).toBe(
      '<https://api.example/errors#idempotency-key-missing>; rel="describedby"; type="text/html"',
    )
  })

  it('carry the request id and members of the app, which replace no member of theirs', () => {
    const occurrence: Occurrence = {
      ...ERRORS['idempotency-key-missing'],
      requestId: 'req_1',
      members: { status: 200, code: 'mine', support: 'desk 4' },
    }

    expect(bodyOf(renderProblem(occurrence))).toMatchObject({
      status: 400,
      code: 'idempotency-key-missing',
      support: 'desk 4',
      requestId: 'req_1',
    })
  })

  it('say Retry-After in whole seconds from one to a day', () => {
    const said = [undefined, 0, -5, 0.2, 1, 1.01, Number.NaN, Number.POSITIVE_INFINITY, 1e21].map(
      (seconds) =>
        headerOf(
          renderProblem({
            ...ERRORS['idempotency-in-progress'],
            ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
          }),
          'Retry-After',
        ),
    )

    expect(said).toEqual(['1', '1', '1', '1', '1', '2', '1', '86400', '86400'])
  })
})
