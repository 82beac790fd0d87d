import { expect, it } from 'vitest'
import { Grouping } from '../../src/stores/postgres/groups/grouping.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'

/** A verb whose statements are answered by hand, in the order in which they were sent. */
function world() {
  const clock = new FakeClock()
  const sent: { readonly asked: readonly number[]; answer(): void; fail(): void }[] = []
  const send = (asked: readonly number[]): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      sent.push({ asked, answer: () => resolve(asked), fail: () => reject(new Error('no')) })
    })
  const grouping = new Grouping<number, number>({
    clock,
    isGroupable: (asked) => asked >= 0,
    one: async (asked) => (await send([asked]))[0] ?? 0,
    many: send,
  })
  return { clock, grouping, sent, asked: () => sent.map((one) => one.asked) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('what is asked for while four are under way goes together when one of them ends', async () => {
  const { grouping, sent, asked } = world()
  const answers = [1, 2, 3, 4, 5, 6, 7].map((number) => grouping.ask(number))
  expect(asked()).toEqual([[1], [2], [3], [4]])

  sent[2]?.answer()
  await turn()
  expect(asked().slice(4)).toEqual([[5, 6, 7]])
  for (const one of sent) one.answer()
  expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6, 7])
})

it('what may not go with others waits for nobody', () => {
  const { grouping, asked } = world()
  for (const number of [1, 2, 3, 4, -5]) void grouping.ask(number)

  expect(asked().at(-1)).toEqual([-5])
})

it('statements that never answer hold others up for a while, and then no more', async () => {
  const { grouping, clock, asked } = world()
  for (const number of [1, 2, 3, 4, 5]) void grouping.ask(number)
  clock.advance(100)
  await turn()
  expect(asked().at(-1)).toEqual([5])

  void grouping.ask(6)
  expect(asked().at(-1)).toEqual([6])
})

it('each asks by itself where a group has failed', async () => {
  const { grouping, sent, asked } = world()
  const answers = [1, 2, 3, 4, 5, 6].map((number) => grouping.ask(number))
  sent[0]?.answer()
  await turn()
  sent[4]?.fail()
  await turn()
  expect(asked().slice(5)).toEqual([[5], [6]])

  for (const one of sent) one.answer()
  expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6])
})
