/**
 * The guide of the client: its rules are tested by the tests that it names, and its hook works.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { uuidV7 } from '../../src/client/key.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/client.md'), 'utf8')
const files = new Map(
  readdirSync(import.meta.dirname)
    .filter((file) => /\.(test|proof)\.ts$/.test(file))
    .map((file) => [
      file.replace(/\.(test|proof)\.ts$/, ''),
      readFileSync(join(import.meta.dirname, file), 'utf8'),
    ]),
)
const rules = [...section('The rules').matchAll(/^\| (.+) \| (\w+): (.+) \|$/gm)]

function section(title: string): string {
  return guide.split(/^## /m).find((text) => text.startsWith(title)) ?? ''
}

describe('the table of rules', () => {
  it('is there', () => {
    expect(rules.length).toBeGreaterThan(40)
    const lines = section('The rules').match(/^\| /gm)
    // All lines but the head are rules.
    expect(rules).toHaveLength((lines?.length ?? 0) - 1)
  })

  it.each(rules.map(([, rule, file, title]) => ({ rule, file, title })))(
    'names a test for: $rule',
    ({ file = '', title = '' }) => {
      const text = files.get(file)
      expect([...files.keys()]).toContain(file)
      expect(text).toMatch(
        new RegExp(`(it|test)(\\.each(<[^]*?>)?\\([^]*?\\))?\\(\\s*['\`][^'\`]*${escaped(title)}`),
      )
    },
  )
})

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

interface Hook {
  submit(): Promise<string>
  isPending: boolean
}

/** The hook of the guide, on as much of React as it needs: what is kept from one rendering to the next. */
function hookOf(send: (key: string) => Promise<string>): () => Hook {
  const [code = ''] = /export function useIdempotentSubmit[^]*?\n}\n/.exec(guide) ?? []
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS }
  const { outputText } = ts.transpileModule(code, { compilerOptions: options })
  const cells: { current: unknown }[] = []
  let at = 0
  const useRef = (current: unknown) => {
    cells[at] ??= { current }
    return cells[at++]
  }
  const useState = (first: unknown) => {
    const cell = useRef(first)
    const set = (next: unknown) => cell && Object.assign(cell, { current: next })
    return [cell?.current, set]
  }
  const exported: Record<string, (given: typeof send) => Hook> = {}
  const useCallback = (run: unknown) => run
  runInNewContext(outputText, { exports: exported, useRef, useState, useCallback, uuidV7 })
  return () => {
    at = 0
    const hook = exported['useIdempotentSubmit']?.(send)
    if (hook === undefined) throw new Error('The guide has no hook.')
    return hook
  }
}

describe('the hook of the guide', () => {
  it('has one key until it is answered, sends once at a time, and then has another', async () => {
    const keys: string[] = []
    const ends: ((error?: Error) => void)[] = []
    const render = hookOf((key) => {
      keys.push(key)
      return new Promise((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve('answer') : reject(error)))
      })
    })
    const clicks = [render().submit(), render().submit()]
    expect([keys.length, render().isPending]).toEqual([1, true])
    ends[0]?.(new Error('outcome unknown'))
    for (const click of clicks) await expect(click).rejects.toThrow('outcome unknown')

    const again = render().submit()
    ends[1]?.()
    expect([await again, render().isPending]).toEqual(['answer', false])
    expect(keys[1]).toBe(keys[0])
    const next = render().submit()
    ends[2]?.()
    await next
    expect(keys[2]).not.toBe(keys[0])
  })
})
