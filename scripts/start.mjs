// `npm start`: the server with the demo; with words behind `--`, any other command.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from './stamps.mjs'

const args = process.argv.slice(2)
const child = spawn(
  process.execPath,
  [join(root, 'dist/cli/main.js'), ...(args.length === 0 ? ['up', '--demo'] : args)],
  {
    stdio: 'inherit',
  },
)
// The terminal tells both of us; it is for the child to act on, and for us to wait until it has.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => void (signal === 'SIGTERM' && child.kill(signal)))
}
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === null ? 1 : 130)
})
