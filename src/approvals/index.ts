// Connects tasks with the relay, which do not know each other: a question of a task is an escalation of the relay, and the answer
// of a person is the decision.

export { askThroughRelay, decideOnTask, type TaskSubject, taskOf } from './task-questions.ts'
