// The program `baton`: its commands, run with the streams, the environment and the signals of this process.

import type { Io } from './base/io.ts'

// A reader that has seen enough (`| head`) closes the pipe: that is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const io: Io = {
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
}

const argv = process.argv.slice(2)
// An agent waits for its hook, so that one does without the other commands.
if (argv[0] === 'hook' && argv[1] !== undefined && argv[2] !== undefined) {
  await (await import('./connect/hook.ts')).hook(io, argv[1], argv[2])
} else {
  process.exitCode = await (await import('./program.ts')).run(argv, io)
}
