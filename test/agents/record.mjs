// Runs record.ts: bundled, since Node reads no TypeScript yet, and without a network where the kernel allows that.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import * as esbuild from 'esbuild'

const folder = import.meta.dirname
const bundle = join(folder, `.record-${process.pid}.mjs`)
await esbuild.build({
  entryPoints: [join(folder, 'record.ts')],
  outfile: bundle,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  logLevel: 'warning',
})
const alone = ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
const isAlone = spawnSync(alone[0] ?? '', [...alone.slice(1), 'true']).status === 0
if (!isAlone) console.error('this kernel gives no network of its own: the agents run with the one there is')
const command = [...(isAlone ? alone : []), process.execPath, bundle, ...process.argv.slice(2)]
const { status } = spawnSync(command[0] ?? '', command.slice(1), { stdio: 'inherit' })
rmSync(bundle, { force: true })
process.exit(status ?? 1)
