// `@baton/baton/client`: calls a server of Baton. It needs nothing but fetch, and runs in a browser as well.

export {
  type CallOptions,
  type Client,
  type ClientOptions,
  createClient,
  type LiveEvent,
  type LiveOptions,
  type Problem,
  ProblemError,
  UnreachableError,
} from '../client/index.ts'
