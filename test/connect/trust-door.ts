// Commands of a user who has trusted nothing: other tests run with BATON_TRUST, since their projects are their own.

import { BatonError } from '../../src/errors.ts'
import { run } from '../../src/cli/program.ts'
import { ioOf, type Run } from '../cli/cli.ts'

export async function batonIn(cwd: string, args: readonly string[], { person = true } = {}): Promise<Run> {
  const io = ioOf(cwd)
  const { BATON_TRUST: before, HOME: home } = process.env
  const env = { ...io.env }
  delete env.BATON_TRUST
  const nobody = () => {
    throw new BatonError('refused', 'Only a person can decide this')
  }
  // What reads the configuration looks at the environment of the process.
  delete process.env.BATON_TRUST
  process.env.HOME = cwd
  try {
    const code = await run(args, { ...io, env, ...(person ? {} : { person: nobody }) })
    return { code, out: io.stdout.text, err: io.stderr.text }
  } finally {
    if (before !== undefined) process.env.BATON_TRUST = before
    if (home !== undefined) process.env.HOME = home
  }
}
