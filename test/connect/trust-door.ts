// Commands of a user who has trusted nothing: other tests run with BATON_TRUST, since their projects are their own.

import { BatonError } from '../../src/errors.ts'
import { run } from '../../src/cli/program.ts'
import { ioOf, type Run } from '../cli/cli.ts'

export async function batonIn(cwd: string, args: readonly string[], { person = true } = {}): Promise<Run> {
  const io = ioOf(cwd)
  const env = { ...io.env }
  delete env.BATON_TRUST
  const nobody = () => {
    throw new BatonError('refused', 'Only a person can decide this')
  }
  const code = await run(args, { ...io, env, ...(person ? {} : { person: nobody }) })
  return { code, out: io.stdout.text, err: io.stderr.text }
}
