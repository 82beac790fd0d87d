/** @module */
export { type MemoryStoreOptions, memoryStore } from './store.ts'
