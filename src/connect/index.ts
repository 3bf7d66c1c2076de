// Baton beside an agent that a person works with. `connection.ts` puts hooks, the MCP server and the status line where the agent
// looks for them, and takes them away again; `hook.ts` answers the agent's hooks, `work.ts` does what takes longer in a
// process of its own, `pending.ts` keeps the handoff that waits for the next session, `doctor.ts` checks whether all of it works.

export {
  answerHook,
  printedAnswer,
  readInput,
  realProject,
  joinStatus,
  ownStatusLine,
  type StatusInput,
  statusText,
} from './hook.ts'
export { HookState } from './hook-state.ts'
export { dropPending, pendingFor, preparePending } from './pending.ts'
export { workOnJobs } from './work.ts'
export { type ConnectPlan, diffLines, planConnect, planDisconnect } from './connection.ts'
export { examine, type Finding } from './doctor.ts'
export { allRecords as connections, originalStatusLine } from './record.ts'
