import { describe, expect, it } from 'vitest'
import { fieldOf } from '../../src/adapters/body-field.ts'

const FORM = 'application/x-www-form-urlencoded; charset=utf-8'

describe('the key in a body', () => {
  it.each([
    ['{"id":"evt_1"}', 'application/json', 'evt_1'],
    ['{"id":17}', 'application/json', '17'],
    ['{"other":1}', 'application/json', undefined],
    ['{"id":null}', 'application/json', ''],
    ['{"id":["a"]}', 'application/json', ''],
    ['not json', 'application/json', undefined],
    ['"text"', 'application/json', undefined],
    ['id=a%20b&c=d', FORM, 'a b'],
    ['c=d', FORM, undefined],
    ['id=', FORM, ''],
    ['id=a&id=a', FORM, ''],
  ])('of %s as %s is %s', (text, type, expected) => {
    expect(fieldOf({ text, contentType: type }, 'id')).toBe(expected)
  })

  it('is never found in what objects inherit', () => {
    expect(fieldOf({ parsed: {} }, 'toString')).toBeUndefined()
    expect(fieldOf({ parsed: undefined }, 'id')).toBeUndefined()
  })
})
