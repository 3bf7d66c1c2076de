// The program `baton`: its commands, run with the streams, the environment and the signals of this process.

import { run } from './program.ts'

// A reader that has seen enough (`| head`) closes the pipe: that is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await run(process.argv.slice(2), {
  // Each is opened when it is first used: hooks start this program often.
  get stdin() {
    return process.stdin
  },
  get stderr() {
    return process.stderr
  },
  stdout: process.stdout,
  env: process.env,
  signals: process,
  self: [process.execPath, process.argv[1]!],
  cwd: () => process.cwd(),
  exit: { code: 0 },
})
