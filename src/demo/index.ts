// The agent of `npm start`: a small separate program with a scripted model and a project to work on, so that a whole cycle can be
// watched without a key and without a network.

export { onScreen, ScriptedAgent } from './agent.ts'
export { demoProject, setUpDemo } from './setup.ts'
