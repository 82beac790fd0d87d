/**
 * Keeps a server alive for as long as the process that asked for it, and no longer.
 *
 * Runs the given commands in order, the last of which is the server, inside a directory that it
 * removes in the end, unless it is to be kept. Standard input is the tether: it closes when the
 * asking process lets go or dies, by whatever signal, and then the server is stopped. Runs in a
 * session of its own, so that Ctrl-C in a terminal reaches the asking process only. If a command ends
 * by itself, its log is printed.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** How long a server may take to stop, in milliseconds, before it is killed. */
const STOP_MS_MAX = 10_000

const { commands, directory, isKept, user, stopSignal } = JSON.parse(process.argv[2])
const logFile = join(directory, 'log')
const log = openSync(logFile, 'a')
let released = false
let running

function release() {
  released = true
  running?.kill(stopSignal)
  setTimeout(() => running?.kill('SIGKILL'), STOP_MS_MAX).unref()
}

/** Runs one command to its end; answers whether the next one may follow. */
async function run([command, ...args]) {
  running = spawn(command, args, { ...user, cwd: directory, stdio: ['ignore', log, log] })
  const [code] = await once(running, 'exit')
  return code === 0 && !released
}

process.stdin.once('close', release).resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, release)

try {
  for (const command of commands) if (!(await run(command))) break
  if (!released) process.stdout.write(readFileSync(logFile))
} catch (error) {
  process.stdout.write(String(error))
} finally {
  if (!isKept) rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
  process.stdin.destroy()
}
