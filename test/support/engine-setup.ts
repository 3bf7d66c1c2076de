// Runs once for each engine that the suites of other rooms are run on: the server that `temporaryStore` then makes its stores on.

import type { TestProject } from 'vitest/node'
import { startNats } from './nats.ts'
import { startPostgres } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of a store with `NAME` in the place of its name; missing: stores are folders. */
    storeAddress?: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await (project.name === 'postgres' ? startPostgres() : startNats())
  project.provide('storeAddress', server.address('NAME'))
  return () => server.stop()
}
