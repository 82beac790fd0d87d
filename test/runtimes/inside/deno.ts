import { denoFiles } from './files/deno.ts'
import { runInProcess } from './process.ts'

await runInProcess(denoFiles)
