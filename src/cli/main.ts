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
  exit: { code: 0, now: () => process.exit(io.exit.code) },
}

const argv = process.argv.slice(2)
const [command, agent, event] = argv
// As Node has it: what is still waited for when nothing is left to happen has failed.
process.exitCode = 13
void main()

async function main(): Promise<void> {
  // An agent waits for its hook, so that one does without the other commands.
  if (command === 'hook' && agent !== undefined && event !== undefined) {
    await (await import('./connect/hook.ts')).hook(io, agent, event)
    process.exitCode = 0
  } else {
    process.exitCode = await (await import('./program.ts')).run(argv, io)
  }
  // A connection that a library gave up without closing it, as to a server that takes it and says nothing, must not keep a finished
  // command.
  setTimeout(() => process.stdout.writableLength === 0 && process.exit(), 1_000).unref()
}
