import { describe, expect, it } from 'vitest'
import { idempotencyField } from '../../src/adapters/form-field.ts'

describe('idempotencyField', () => {
  it('renders a hidden input with a fresh key each time', () => {
    const keyOf = (html: string) =>
      /^<input type="hidden" name="idempotency_key" value="([\w-]{22})">$/.exec(html)?.[1]

    const [one, two] = [keyOf(idempotencyField()), keyOf(idempotencyField())]

    expect(one).toBeDefined()
    expect(two).toBeDefined()
    expect(one).not.toBe(two)
  })

  it('keeps the key that it is given', () => {
    const html = '<input type="hidden" name="idempotency_key" value="k-1">'

    expect(idempotencyField('k-1')).toBe(html)
    expect(idempotencyField({ key: 'k-1' })).toBe(html)
  })

  it('escapes what it is given', () => {
    expect(idempotencyField({ key: `"><script>&'`, name: 'a"b' })).toBe(
      '<input type="hidden" name="a&quot;b" value="&quot;&gt;&lt;script&gt;&amp;&#39;">',
    )
  })

  it('takes chance from where it is told', () => {
    expect(idempotencyField({ random: { token: () => 'token' } })).toContain('value="token"')
  })
})
