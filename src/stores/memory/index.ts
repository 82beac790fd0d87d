/** @module */

export { memoryDesk } from './desk.ts'
export { type MemoryStoreOptions, memoryStore } from './store.ts'
