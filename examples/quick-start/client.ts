import { createClient } from 'reprise/client'
import { fileJournal } from 'reprise/client/file-journal'

const client = createClient({
  baseUrl: process.env.API_URL ?? 'http://localhost:3000',
  headers: { Authorization: 'Bearer sk_test_1' },
  journal: fileJournal({ folder: process.env.JOURNAL ?? '.journal' }),
})

// What a crash has left unfinished, with the same keys.
export const resumed = await client.resume()

export async function charge(amount: number) {
  const { json, key, attempts, replayed } = await client.post<{ id: number }>('/charges', {
    json: { amount },
  })
  return { ...(await json()), key, attempts, replayed }
}
