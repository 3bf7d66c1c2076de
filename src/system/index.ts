// What the operating system gives: running commands, ending processes, locks, durable files, watching a folder, reading shell text.

export { timeText } from './clock-text.ts'
export { createFile, makeFolder, replaceFile, syncFolder, writeAll, asRefusal, asStorageError } from './durable.ts'
export { type Holder, holderSchema, isHolding, lifeOf, silentMs, thisProcess } from './holder.ts'
export { Lock } from './lock.ts'
export {
  agentAbove,
  agentOfThisProcess,
  agentMark,
  agentPrograms,
  ancestry,
  type Ancestor,
  type Person,
  personAtTerminal,
} from './person.ts'
export {
  allProcesses,
  endTree,
  folderOf,
  isRunning,
  isThere,
  killTree,
  markVariable,
  mayWorkIn,
  openFilesOf,
  pause,
  type Process,
  processAt,
  send,
  startOf,
  type Stray,
  treeOf,
} from './processes.ts'
export { everySecond, watchFolder } from './watch-folder.ts'
export {
  commandsIn,
  type List,
  type Node,
  parseShell,
  type Redirect,
  shellWord,
  type SimpleCommand,
  type Word,
} from './shell.ts'
export { type Output, type Run, runCommand, type ProgramOptions } from './run.ts'
