/**
 * `npm run model`: every order of events, in each configuration; `-- small` for those that take
 * seconds, `-- phases` for those with that in their names, `--processes 2` for as many at a time.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from '../bundle.ts'
import { LARGE, SMALL } from './configs.ts'
import type { Progress } from './explore.ts'
import type { Said } from './explorer.ts'
import type { ModelConfig } from './model.ts'

type Explored = Extract<Said, { readonly kind: 'explored' }>

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { processes: { type: 'string', default: String(availableParallelism()) } },
  })
  const [filter = ''] = positionals
  const all = filter === 'small' ? SMALL : [...SMALL, ...LARGE]
  const chosen = all.filter(({ name }) => filter === 'small' || name.includes(filter))
  if (chosen.length === 0) {
    console.error(`No configuration has "${filter}" in its name.`)
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'reprise-model-'))
  try {
    const file = join(folder, 'explorer.mjs')
    await bundle('model/explorer.ts', file)
    const next = chosen.values()
    const count = Math.min(Number(values.processes), chosen.length)
    const held = await Promise.all(Array.from({ length: count }, () => explored(file, next)))
    return held.every(Boolean) ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Has a process explore one configuration after the other; whether all of them hold. */
async function explored(file: string, next: Iterator<ModelConfig>): Promise<boolean> {
  // Nearly all that a replay makes dies with it: a large nursery costs far fewer collections.
  const explorer = fork(file, {
    ...{ serialization: 'advanced', execArgv: ['--max-semi-space-size=64'] },
  })
  let holds = true
  try {
    for (let one = next.next(); one.done !== true; one = next.next()) {
      const came = await cameTo(explorer, one.value)
      report(one.value, came)
      holds &&= came.violation === undefined
    }
  } finally {
    explorer.removeAllListeners('exit').kill()
  }
  return holds
}

function cameTo(explorer: ChildProcess, config: ModelConfig): Promise<Explored> {
  return new Promise((resolve, reject) => {
    explorer.removeAllListeners('message').removeAllListeners('exit')
    explorer.on('exit', (code) => reject(new Error(`A process that explores ended with ${code}.`)))
    // An explorer says nothing else.
    explorer.on('message', (said: Said) => {
      if (said.kind === 'explored') resolve(said)
      else if (process.stderr.isTTY) process.stderr.write(`${progressed(config, said)}\n`)
    })
    explorer.send(config)
  })
}

function progressed({ name }: ModelConfig, { states, statesPerSecond, open }: Progress): string {
  return `  ${name}: ${states} states, ${statesPerSecond} a second, ${open} branches open`
}

function report({ name }: ModelConfig, came: Explored): void {
  const { states, transitions, ends, depth, isComplete, violation, seconds, cpuSeconds } = came
  const counts = `${states} states, ${transitions} transitions, ${ends} ends, depth ${depth}`
  const took = `${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of a core`
  console.log(`${name}: ${counts}, ${took}: ${isComplete ? 'no state left' : 'NOT COMPLETE'}`)
  if (violation !== undefined) {
    console.log(`${violation.message}\n  ${violation.acts.join('\n  ')}`)
  }
}

process.exitCode = await main()
