// The door for programs and browsers. `app.ts` answers requests, `routes.ts` projects the table of operations on them, `live.ts` is
// the stream, `tokens.ts` and `access.ts` say who may call, `serve.ts` listens.

export { builtDashboard, isLoopback, serve, type Serving } from './serve.ts'
export { type RunningServer, ServerPlace } from './running.ts'
export { Tokens } from './tokens.ts'
