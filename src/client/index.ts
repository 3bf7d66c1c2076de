// Calls a server of Baton from another program or a browser: `client.ts` has a method for each operation, `live.ts` the stream.

export {
  type AnswerOf,
  type CallOptions,
  type Client,
  type ClientOptions,
  createClient,
  type InputOf,
  type OnceName,
} from './client.ts'
export { type LiveEvent, type LiveOptions } from './live.ts'
export { type Problem, ProblemError, UnreachableError } from './transport.ts'
