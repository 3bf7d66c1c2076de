export * from './errors.ts'
export * from './store/index.ts'
