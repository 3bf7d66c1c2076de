// The door for programs and browsers. `serve.ts` listens and `app.ts` answers: `http/` reads requests, `access/` says who may call,
// `routes/` projects the table of operations and what else there is on addresses, `live/` is the stream that follows tapes.

export { builtDashboard, isLoopback, serve, type Serving } from './serve.ts'
export { type RunningServer, ServerPlace } from './running.ts'
export { Tokens } from './access/tokens.ts'
