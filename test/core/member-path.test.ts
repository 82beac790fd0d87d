import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalForm } from '../../src/core/form.ts'
import { canonicalJson } from '../../src/core/json.ts'
import { canonicalValue } from '../../src/core/json-value.ts'
import { pathOfName } from '../../src/core/member-path.ts'

interface Vector {
  readonly title: string
  readonly exclude: readonly string[]
  readonly body: unknown
  /** What is compared. */
  readonly compared: unknown
}

const VECTORS: readonly Vector[] = [
  {
    title: 'a member of the outermost object',
    exclude: ['sentAt'],
    body: { a: 1, sentAt: 2, b: { sentAt: 3 } },
    compared: { a: 1, b: { sentAt: 3 } },
  },
  {
    title: 'a member of a member',
    exclude: ['params._meta'],
    body: { params: { _meta: { id: 1 }, name: 'x' }, _meta: 1 },
    compared: { params: { name: 'x' }, _meta: 1 },
  },
  {
    title: 'a member of each element of an array',
    exclude: ['items[].clientTime'],
    body: { items: [{ clientTime: 1, n: 1 }, { n: 2 }, 3, null, [{ clientTime: 1 }]] },
    compared: { items: [{ n: 1 }, { n: 2 }, 3, null, [{ clientTime: 1 }]] },
  },
  {
    title: 'a member of each element of an outermost array',
    exclude: ['[].id'],
    body: [{ id: 1, n: 1 }, { id: 2 }],
    compared: [{ n: 1 }, {}],
  },
  {
    title: 'arrays within arrays',
    exclude: ['rows[][].at'],
    body: { rows: [[{ at: 1, v: 1 }], [{ at: 2 }]], at: 3 },
    compared: { rows: [[{ v: 1 }], [{}]], at: 3 },
  },
  {
    title: 'every element of an array',
    exclude: ['trace[]'],
    body: { trace: [1, { a: 1 }, [2]], n: [1] },
    compared: { trace: [], n: [1] },
  },
  {
    title: 'several paths that share a beginning',
    exclude: ['a.b', 'a.c.d', 'a.c.e'],
    body: { a: { b: 1, c: { d: 1, e: 2, f: 3 } } },
    compared: { a: { c: { f: 3 } } },
  },
  {
    title: 'a value and a part of it',
    exclude: ['a', 'a.b'],
    body: { a: { b: 1, c: 2 }, n: 1 },
    compared: { n: 1 },
  },
  {
    title: 'names with dots, brackets and backslashes',
    exclude: ['a\\.b', 'c\\[\\]', 'd\\\\', 'e.f\\.g'],
    body: { 'a.b': 1, a: { b: 2 }, 'c[]': 3, c: [4], 'd\\': 5, d: 6, e: { 'f.g': 7, f: { g: 8 } } },
    compared: { a: { b: 2 }, c: [4], d: 6, e: { f: { g: 8 } } },
  },
  {
    title: 'names that objects have by themselves',
    exclude: ['constructor.name', 'toString'],
    body: { constructor: { name: 1, x: 2 }, toString: 1, n: 1 },
    compared: { constructor: { x: 2 }, n: 1 },
  },
  {
    title: 'nothing where the path does not lead anywhere',
    exclude: ['a.b.c', 'x[].y', 'n.length', 's[].0', 'missing'],
    body: { a: { b: 1 }, x: { y: 1 }, n: [1], s: 'text', m: null },
    compared: { a: { b: 1 }, x: { y: 1 }, n: [1], s: 'text', m: null },
  },
]

describe('exclude', () => {
  for (const { title, exclude, body, compared } of VECTORS) {
    it(`leaves out ${title}, of a text and of a parsed body`, () => {
      expect(canonicalJson(JSON.stringify(body), { exclude })).toBe(canonicalValue(compared))
      expect(canonicalValue(body, { exclude })).toBe(canonicalValue(compared))
    })
  }

  it('finds a name that the body writes with escapes', () => {
    const text = '{"p":{"\\u005fmeta":1,"n":2}}'

    expect(canonicalJson(text, { exclude: ['p._meta'] })).toBe('{"p":{"n":2}}')
  })

  it('still refuses a member that is named twice in what is left out', () => {
    const text = '{"p":{"_meta":{"a":1,"a":2}}}'

    expect(() => canonicalJson(text, { exclude: ['p._meta'] })).toThrow('names a member again')
  })

  it('leaves the same out of a text and of the value that the text says', () => {
    const name = fc.constantFrom('a', 'b', 'a.b', '[]', '\\', '', '__proto__', 'toJSON')
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(1, 'x', null),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(name, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }))
    const step = fc.oneof(
      fc.constant('[]'),
      fc.constantFrom('a', 'b', 'a.b', '\\').map((named) => `.${pathOfName(named)}`),
    )
    const path = fc
      .array(step, { minLength: 1, maxLength: 4 })
      .map((steps) => steps.join('').replace(/^\./, ''))

    fc.assert(
      fc.property(tree, fc.array(path, { maxLength: 3 }), (body, exclude) => {
        const value: unknown = JSON.parse(JSON.stringify(body))

        expect(canonicalValue(value, { exclude })).toBe(
          canonicalJson(JSON.stringify(value), { exclude }),
        )
      }),
      { numRuns: 1000 },
    )
  })

  it('reads brackets in the names of form fields as frameworks do', () => {
    const compared = (form: string, ...exclude: string[]) => canonicalForm(form, exclude)

    expect(compared('p[_meta]=1&p[n]=2', 'p._meta')).toBe(canonicalForm('p[n]=2'))
    expect(compared('p[_meta][id]=1&p[n]=2', 'p._meta')).toBe(canonicalForm('p[n]=2'))
    expect(compared('i[][t]=1&i[0][t]=2&i[][n]=3', 'i[].t')).toBe(canonicalForm('i[][n]=3'))
    expect(compared('a=1&a[x]=2&b=3', 'a')).toBe(canonicalForm('b=3'))
    expect(compared('p[n]=2', 'p.n.x')).toBe(canonicalForm('p[n]=2'))
    expect(compared('p.n=1&p[n]=2', 'p\\.n')).toBe(canonicalForm('p[n]=2'))
    expect(compared('p[1]=1&p[n]=2', 'p.1')).toBe(canonicalForm('p[n]=2'))
  })

  for (const path of ['', '.', 'a.', '.a', 'a..b', 'a[0]', 'a[', 'a]', '[]a', 'a\\', 'a\\b']) {
    it(`refuses ${JSON.stringify(path)}, which is no path`, () => {
      expect(() => canonicalJson('{}', { exclude: [path] })).toThrow(
        expect.objectContaining({
          code: 'reprise-options-invalid',
          message: expect.stringContaining(JSON.stringify(path)),
        }),
      )
    })
  }
})

describe('pathOfName', () => {
  it('gives a path that leaves out the member of exactly that name', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (name) => {
        fc.pre(name !== '__proto__')
        const exclude = [pathOfName(name)]

        expect(canonicalValue({ [name]: 1, [`${name}.`]: 2 }, { exclude })).toBe(
          canonicalValue({ [`${name}.`]: 2 }),
        )
      }),
    )
  })
})
