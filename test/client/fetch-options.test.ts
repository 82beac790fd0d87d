import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'

describe('a request with a key', () => {
  it('keeps every option of a Request that fetch would keep', async () => {
    let sent: RequestInit = {}
    const fetch = async (_: unknown, init: RequestInit = {}) => {
      sent = init
      return new Response(null, { status: 201 })
    }
    const given = {
      ...({ cache: 'no-store', credentials: 'include', keepalive: true } as const),
      ...({ integrity: 'sha256-x', mode: 'same-origin', redirect: 'error' } as const),
      ...({ referrerPolicy: 'no-referrer' } as const),
    }
    await createClient({ fetch }).post('https://api.example/v1/charges', given)
    expect(sent).toMatchObject(given)
    const request = new Request('https://api.example/v1/charges', { ...given, method: 'POST' })
    await createClient({ fetch })(request)
    expect(sent).toMatchObject(given)
  })
})
