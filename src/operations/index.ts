// What can be done to a workspace from outside. `operation.ts` says what an operation is, `table.ts` lists them all, and each
// folder holds those of one noun. The doors project this table; none of them adds to it.

export {
  allows,
  type AnyOperation,
  type Call,
  type Caller,
  isLive,
  type LiveOperation,
  type Operation,
  type Scope,
  scopes,
} from './operation.ts'
export { operations, type Operations, table } from './table.ts'
export { demandTape, folderOf, openWorkspace, type Workspace } from './workspace.ts'
export { type OpenedRelay, openWorkspaceRelay } from './relay/open.ts'
