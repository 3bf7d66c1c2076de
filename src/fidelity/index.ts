// How much of a session a handoff document keeps, and whether it says anything false. The truth is taken from git, from exit
// codes and from the entries of the session, by code of its own: nothing here knows how documents are made.

export { changesByGit, truthOf } from './truth.ts'
export { type Score, score } from './score.ts'
