import { expect, it } from 'vitest'
import { essenceOf, isForm, isJson } from '../../src/core/media-type.ts'

it.each([
  [undefined, ''],
  [null, ''],
  ['', ''],
  [';charset=utf-8', ''],
  ['Application/JSON', 'application/json'],
  [' application/json ; charset=utf-8', 'application/json'],
])('the essence of the media type %j is %j', (type, essence) => {
  expect(essenceOf(type)).toBe(essence)
})

it.each([
  ['application/json', true, false],
  ['application/problem+json', true, false],
  ['application/x-www-form-urlencoded', false, true],
  ['text/plain', false, false],
])('%s is JSON: %j, and a form: %j', (essence, json, form) => {
  expect([isJson(essence), isForm(essence)]).toEqual([json, form])
})
