// Baton for models, over the Model Context Protocol: `tools.ts` says which operations they are given, `server.ts` serves them.

export { answerMcp, mcpFactory } from './server.ts'
export { mcpTools } from './tools.ts'
