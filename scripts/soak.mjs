// `npm run soak`: thirty cycles with things going wrong, in about a quarter of an hour. Writes docs/soak.md.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import * as esbuild from 'esbuild'
import { root } from './stamps.mjs'

const bundle = join(root, 'test/soak', `.soak-${process.pid}.mjs`)
await esbuild.build({
  entryPoints: [join(root, 'test/soak/soak.ts')],
  outfile: bundle,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  logLevel: 'warning',
})
// Without a network, where the kernel allows that: the real agent among them is to reach the scripted model only.
const alone = ['unshare', '-rn', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
const isAlone = spawnSync(alone[0] ?? '', [...alone.slice(1), 'true']).status === 0
const command = [...(isAlone ? alone : []), process.execPath, bundle, ...process.argv.slice(2)]
const { status } = spawnSync(command[0] ?? '', command.slice(1), { stdio: 'inherit' })
rmSync(bundle, { force: true })
process.exit(status ?? 1)
