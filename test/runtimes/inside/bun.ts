import { bunFiles } from './files/bun.ts'
import { runInProcess } from './process.ts'

await runInProcess(bunFiles)
