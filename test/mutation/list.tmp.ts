import { allMutants } from './mutants.ts'
const all = allMutants()
const by = new Map<string, number>()
for (const m of all) { const k = m.source.folder + (m.isText ? ' text' : ''); by.set(k, (by.get(k) ?? 0) + 1) }
console.log(all.length, by, new Set(all.map(m=>m.name)).size)
const f = process.argv[2]
for (const m of all) if (f && m.source.path.includes(f)) console.log(m.name)
