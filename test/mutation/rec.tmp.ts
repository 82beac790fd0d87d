import { recordReach } from './record.ts'
const r = await recordReach((l) => console.log(new Date().toISOString().slice(11,19), l))
console.log(r.length)
