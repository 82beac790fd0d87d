import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dialects } from '../../src/core/dialects/index.ts'
import {
  type ClientErrorCode,
  ERRORS,
  type ErrorCode,
  LEASE_LOST,
  SCHEMA_MISSING,
} from '../../src/core/error-table.ts'
import { isRepriseError, problemTypeOf, RepriseError } from '../../src/core/errors.ts'
import { problemOf } from '../../src/core/problem.ts'
import { EXPLANATIONS } from '../../src/error-pages/explanations.ts'

// Object.keys forgets the codes that the type of the table has.
const CODES = Object.keys(ERRORS) as ErrorCode[]

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

/** Text of each section by its heading. */
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf('\n')
      return [section.slice(0, end), section.slice(end)]
    }),
)

function isClientCode(code: ErrorCode): code is ClientErrorCode {
  return code.startsWith('idempotency-')
}

describe('the page of errors', () => {
  it('has a section for each code of the table, in its order, and no other', () => {
    expect([...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual(CODES)
  })

  for (const code of CODES) {
    const section = sections.get(code) ?? ''
    const { status, title, retryable } = ERRORS[code]

    it(`${code}: says status, title and whether to try again as the table does`, () => {
      const again = retryable ? 'retryable' : 'not retryable'

      expect(section.trim().split('\n')[0]).toBe(`Status ${status} · ${again} · ${title}`)
    })

    it(`${code}: shows what is really sent or thrown`, () => {
      const [, language, example = ''] = /```(\w+)\n(.*?)\n```/s.exec(section) ?? []

      if (isClientCode(code)) {
        expect([language, JSON.parse(example)]).toEqual(['json', problemOf(ERRORS[code])])
      } else {
        expect([language, example]).toEqual(['text', new RepriseError(ERRORS[code]).message])
      }
    })

    it(`${code}: explains it in the words of the published pages`, () => {
      const { happened, client, developer, operator } = EXPLANATIONS[code]
      const advice = [
        ['Client', client],
        ['Developer', developer],
        ['Operator', operator],
      ].flatMap(([who, text]) => (text === undefined ? [] : `- **${who}:** ${text}`))
      const [, ...paragraphs] = section
        .replace(/```.*?```/s, '')
        .trim()
        .split(/\n{2,}/)
      const said = paragraphs.join('\n').replaceAll(/\n(?!- )\s*/g, ' ')

      expect(said.trim().split('\n')).toEqual([happened, ...advice])
    })

    it(`${code}: tells everybody concerned what to do next`, () => {
      const told = [...section.matchAll(/^- \*\*(\w+):\*\* \S/gm)].map(([, who]) => who)

      expect(told).toEqual([...(isClientCode(code) ? ['Client'] : []), 'Developer', 'Operator'])
    })
  }
})

describe('the table of errors', () => {
  for (const code of CODES) {
    it(`${code}: has the status of an error, a title without and a hint with a full stop`, () => {
      const { status, title, hint } = ERRORS[code]

      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(600)
      expect(title).toMatch(/^[A-Z].*[^.]$/)
      // What is wrong with an option, and what to give, is said by the detail.
      if (code !== 'reprise-options-invalid') expect(hint).toMatch(/^[A-Z].*\.$/)
    })
  }

  it('has a 4xx for what the client did and a retryable 503 for what passes', () => {
    const clientCodes = CODES.filter(isClientCode)
    const wrong = clientCodes.filter(
      (code) =>
        ERRORS[code].status >= 500 && !(ERRORS[code].status === 503 && ERRORS[code].retryable),
    )

    expect(wrong).toEqual([])
  })
})

describe('the type of a problem', () => {
  // RFC 8141, section 2: "urn", an identifier of 2 to 32 characters, and what it names.
  const URN = /^urn:[a-z0-9][a-z0-9-]{0,30}[a-z0-9]:[a-z0-9][a-z0-9:-]*$/

  for (const code of CODES) {
    it(`${code}: is a URN, or a page of the app's own`, () => {
      expect(problemTypeOf(code)).toBe(`urn:reprise:error:${code}`)
      expect(problemTypeOf(code)).toMatch(URN)
      expect(problemTypeOf(code, 'https://api.example/errors')).toBe(
        `https://api.example/errors#${code}`,
      )
      expect(problemTypeOf(code, 'https://api.example/errors/')).toBe(
        `https://api.example/errors/${code}`,
      )
    })
  }
})

describe('RepriseError', () => {
  it('carries the row of its code and keeps the cause', () => {
    const cause = new Error('connection reset')
    const error = new RepriseError(SCHEMA_MISSING, 'Table records is missing', { cause })
    expect(error.detail).toBe('Table records is missing')
    expect(new RepriseError(SCHEMA_MISSING).detail).toBeUndefined()
    const { status, retryable, hint } = ERRORS['reprise-schema-missing']
    const docs = 'node_modules/reprise/docs/errors.md#reprise-schema-missing'

    expect(error).toMatchObject({
      code: 'reprise-schema-missing',
      status,
      retryable,
      hint,
      docs,
    })
    expect(error.message).toBe(`Table records is missing. ${hint} (${docs})`)
    expect(error.cause).toBe(cause)
  })

  it('is known by its looks, so that one of another copy of the package is known too', () => {
    const foreign = Object.assign(new Error('x'), { name: 'RepriseError', code: 'c', hint: 'h' })

    expect(isRepriseError(new RepriseError(LEASE_LOST))).toBe(true)
    expect(isRepriseError(foreign)).toBe(true)
    expect(isRepriseError(new Error('x'))).toBe(false)
    // As PostgreSQL reports its errors.
    expect(isRepriseError(Object.assign(new Error('x'), { code: '42P01', hint: 'h' }))).toBe(false)
    expect(isRepriseError({ name: 'RepriseError', code: 'c', hint: 'h' })).toBe(false)
    expect(isRepriseError(null)).toBe(false)
  })
})

describe('statuses of dialects', () => {
  for (const dialect of Object.values(dialects)) {
    it(`${dialect.name} only has statuses for codes of the table`, () => {
      const unknown = Object.keys(dialect.errors.statuses).filter((code) => !(code in ERRORS))

      expect(unknown).toEqual([])
    })
  }
})
