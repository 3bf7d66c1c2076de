export { call, closedGate, cutAfter, fail, failAfter, refuse, say, type Reply } from './reply.ts'
export type { Api, ModelRequest } from './request.ts'
export { inOrder, type Script } from './script.ts'
export { startModelServer, type ModelServer } from './server.ts'
