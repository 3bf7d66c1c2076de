// An agent of its own in a process of its own: hands a task over again and again, says so on stdout each time it was
// promised to be stored, and tries again where somebody else was first.

import path from 'node:path'
import { BatonError } from '../../src/errors.ts'
import { openFileStore } from '../../src/store/index.ts'
import { Tasks } from '../../src/task/index.ts'

const [, , folder, name, times] = process.argv
const store = await openFileStore(path.join(folder!, '.baton'))
const tasks = new Tasks({ store, project: folder!, stateFolder: path.join(folder!, '.baton', 'state') })
for (let i = 0; i < Number(times);) {
  try {
    const { state_delta, state_file_problem } = await tasks.handoff({
      task_id: 'TASK-001',
      source_agent: name!,
      target_agent: 'qa',
      phase: 'planning',
      decisions: [{ decision: `${name} ${i}`, rationale: 'the next step' }],
    })
    if (state_file_problem !== undefined) throw new Error(state_file_problem)
    process.stdout.write(`${state_delta.version} ${name} ${i}\n`)
    i++
  } catch (error) {
    if (!BatonError.is(error) || error.code !== 'conflict') throw error
  }
}
await tasks.close()
await store.close()
