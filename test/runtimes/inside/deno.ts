import { denoFiles } from './files.ts'
import { runInProcess } from './process.ts'

await runInProcess(denoFiles)
