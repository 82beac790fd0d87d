import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compact, expand, Packer } from '../../src/stores/redis/compact.ts'

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.uuid(),
  fc.uuid().map((uuid) => uuid.toUpperCase()),
  fc.uint8Array({ minLength: 10, maxLength: 40 }).map((bytes) => base64url(bytes)),
  fc.stringMatching(/^(1\.)?[\w-]{14,30}$/),
  fc.constantFrom('', '\u0000', '\u0001', '\u0002', '\u0003', '\u0004', '\u0001uuid', '1.'),
)

describe('compact', () => {
  it('gives back every text', () => {
    fc.assert(fc.property(texts, (text) => expand(compact(text)) === text))
  })

  it('tells nothing from an empty text', () => {
    expect(compact(null)).toHaveLength(0)
    expect(expand(compact(null))).toBeNull()
    expect(expand(compact(''))).toBe('')
  })

  it('gives different texts different bytes', () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        return compact(one).equals(compact(other)) === (one === other)
      }),
    )
  })

  it('keeps apart texts that spell the same bytes', () => {
    expect(compact('AAAAAAAAAAAAAAAAAA')).not.toEqual(compact('AAAAAAAAAAAAAAAAAB'))
  })

  it('takes the room of the bytes that a text spells', () => {
    expect(compact('123e4567-e89b-42d3-a456-426614174000')).toHaveLength(17)
    expect(compact(base64url(new Uint8Array(32)))).toHaveLength(33)
    expect(compact(`1.${base64url(new Uint8Array(32))}`)).toHaveLength(33)
    expect(compact('POST /charges')).toHaveLength(13)
  })
})

describe('Packer', () => {
  it('writes texts, numbers, flags and bytes as MessagePack', () => {
    const packer = new Packer()
    packer
      .begin()
      .number(0)
      .number(127)
      .number(128)
      .number(86_400_000)
      .number(2 ** 40)
    packer.flag(true).flag(false).compact(null).compact('abc').raw(new Uint8Array(40).fill(7))
    const packed = packer.take()
    const head = '00 7f ce00000080 ce05265c00 cf0000010000000000 c3 c2 a0 a3616263 d928'
    expect(packed.toString('hex')).toBe(`${head.replaceAll(' ', '')}${'07'.repeat(40)}`)
  })

  it('writes values within a value', () => {
    const packer = new Packer()
    const inner = packer.begin().open()
    packer.compact('a').number(1)
    const packed = packer.close(inner).number(2).take()
    expect(packed.toString('hex')).toBe('db00000003a1610102')
  })

  it('grows for what is long, and hands out what nobody writes to again', () => {
    const packer = new Packer()
    const text = 'ü'.repeat(100_000)
    const long = packer.begin().number(1).compact(text).take()
    const short = packer.begin().number(2).take()
    expect(long.subarray(0, 6).toString('hex')).toBe('01db00030d40')
    expect(long.toString('utf8', 6)).toBe(text)
    expect([...short]).toEqual([2])
  })

  it.each<[string, (packer: Packer) => unknown]>([
    ['a yes', (packer) => packer.flag(true)],
    ['a small number', (packer) => packer.number(1)],
    ['a large number', (packer) => packer.number(2 ** 40)],
    ['no text', (packer) => packer.compact(null)],
    ['a text', (packer) => packer.compact('日本')],
    ['bytes', (packer) => packer.raw(Uint8Array.of(1, 2))],
    ['a value within', (packer) => packer.close(packer.open())],
  ])('writes %s wherever its buffer ends', (_, write) => {
    const alone = new Packer().begin()
    write(alone)
    const once = alone.take()
    for (let before = 4096 - 40; before <= 4096; before++) {
      const packer = new Packer().begin().raw(new Uint8Array(before))
      for (let times = 0; times < 12; times++) write(packer)
      const all = packer.take()
      const expected = Buffer.concat(Array.from({ length: 12 }, () => once))
      expect(all.subarray(-expected.length).equals(expected)).toBe(true)
    }
  })

  it('forgets what was begun and not taken', () => {
    const packer = new Packer()
    packer.begin().compact('left over')
    expect([...packer.begin().number(3).take()]).toEqual([3])
  })
})

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
