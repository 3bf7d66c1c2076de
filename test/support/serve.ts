import { onTestFinished } from 'vitest'
import { type ModelServer, type Script, startModelServer } from './model-server/index.ts'

/** A scripted model server for the length of a test. */
export async function serve(script: Script): Promise<ModelServer> {
  const server = await startModelServer({ script })
  onTestFinished(() => server.close())
  return server
}
