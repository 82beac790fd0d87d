import { memoryStore } from '../../src/stores/memory/index.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { describeContract } from './describe.ts'

describeContract('the memory store', async () => {
  const clock = new FakeClock()
  const store = memoryStore({ clock })
  return { store, peer: store, advance: async (ms) => clock.advance(ms) }
})
