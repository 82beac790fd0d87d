import { describe, expect, it } from 'vitest'
import { DuplicateRequest } from '../../src/engine/duplicate-request.ts'
import { Grant } from '../../src/stores/postgres/open-transaction.ts'
import { Running } from '../../src/stores/postgres/running.ts'

function granting() {
  const told: string[] = []
  const request = { id: 'a', fingerprint: '1.b' } as ConstructorParameters<typeof Grant>[1]
  const grant = new Grant(Running.of({}, 'reprise'), request)
  const onGranted = () => void told.push('granted')
  const onRefused = () => void told.push('refused')
  grant.onGranted = onGranted
  grant.onRefused = onRefused
  // Whoever keeps the handler's tx keeps the grant, and must not keep who listened to it.
  const listens = () => grant.onGranted === onGranted || grant.onRefused === onRefused
  return { grant, told, listens }
}

describe('the hold on a key', () => {
  it('tells who listens that it is granted, and lets them go', () => {
    const { grant, told, listens } = granting()
    grant.grant(['fresh', 'read committed', '1.5'])

    expect(told).toEqual(['granted'])
    expect(grant).toMatchObject({ isGranted: true, transaction: '1.5' })
    expect(listens()).toBe(false)
  })

  it('tells who listens that it is refused, and lets them go', () => {
    const { grant, told, listens } = granting()
    const fault = grant.fail(Object.assign(new Error('refused'), { code: 'RP101' }))

    expect(fault).toBeInstanceOf(DuplicateRequest)
    expect(told).toEqual(['refused'])
    expect(grant.isGranted).toBe(false)
    expect(listens()).toBe(false)
  })

  it('is neither where something else has failed', () => {
    const { grant, told } = granting()
    const error = new Error('the wire broke')

    expect(grant.fail(error)).toBe(error)
    expect(grant.isGranted).toBeUndefined()
    expect(told).toEqual([])
  })
})
