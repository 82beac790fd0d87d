import type { Reporter, TestModule } from 'vitest/node'

/** How many files are named. */
const NAMED = 10

/** Ends the summary with the test files that took longest, so that a slow one is noticed when it is written. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const timed = modules.map((module) => ({ name: module.relativeModuleId, ms: timeOf(module) }))
    const slowest = timed.sort((a, b) => b.ms - a.ms).slice(0, NAMED)
    console.log(`The ${slowest.length} slowest of ${modules.length} test files:`)
    for (const { name, ms } of slowest) {
      console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`)
    }
  }
}

/** All that the file cost, in milliseconds: its imports, its hooks and its tests. */
function timeOf(module: TestModule): number {
  const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } =
    module.diagnostic()
  return collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration
}
