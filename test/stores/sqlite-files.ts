import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Client, Handle } from './sqlite-clients.ts'

/** A path in a folder of its own, with a function that removes the folder. */
export function temporaryFile(): { readonly path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-sqlite-'))
  return {
    path: join(folder, 'records.db'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A path that is removed after the test. */
export function testFile(): string {
  const { path, remove } = temporaryFile()
  onTestFinished(remove)
  return path
}

/** Opens a handle that is closed after the test. */
export function openForTest(client: Client, path: string): Handle {
  const handle = client.open(path)
  onTestFinished(() => {
    handle.close()
  })
  return handle
}
