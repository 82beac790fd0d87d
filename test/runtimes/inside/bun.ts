import { bunFiles } from './files.ts'
import { runInProcess } from './process.ts'

await runInProcess(bunFiles)
