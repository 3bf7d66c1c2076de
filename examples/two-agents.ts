// Two agents in five lines, without a configuration. Here both are in one process; the researcher may as well run in another one, which
// calls `relay.serve` with the same function, or `baton relay serve researcher -- COMMAND`. The writer does not notice.
//
// In a project of your own: import { openRelay } from '@baton/baton/relay'

import * as z from 'zod'
import { openRelay } from '../src/relay/index.ts'

const relay = await openRelay()
if (process.argv[2] !== 'writer') {
  void relay.serve('researcher', () => ({ status: 'resolved', providedInputs: { inhabitants: 134_506 } }))
}
if (process.argv[2] !== 'researcher') {
  const schema = z.object({ inhabitants: z.number() })
  const answer = await relay.ask('writer', 'researcher', { summary: 'How many people live in Bern?', schema })
  console.log(answer.status === 'resolved' ? answer.inputs.inhabitants : answer)
  await relay.close()
}
