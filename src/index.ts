export * from './errors.ts'
export * from './store/index.ts'
export * from './tape/index.ts'
export * from './task/index.ts'
