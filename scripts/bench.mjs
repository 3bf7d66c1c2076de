// `npm run bench tape` runs bench/tape.ts. What it imports from src/ is taken from dist/: the figures are those of the
// code that ships.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import * as esbuild from 'esbuild'
import { root } from './stamps.mjs'

const [name, ...args] = process.argv.slice(2)
const folder = join(root, 'bench')
const entry = join(folder, `${name}.ts`)
if (name === undefined || !existsSync(entry)) {
  const names = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.ts')) : []
  console.error(`usage: npm run bench NAME [-- ARGS]\nNAME: ${names.map((file) => file.slice(0, -3)).join(', ')}`)
  process.exit(2)
}

// Beside its source, so that import.meta.url means the same in both.
const bundle = join(folder, `.${name}.mjs`)
await esbuild.build({
  entryPoints: [entry],
  outfile: bundle,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'warning',
  plugins: [{ name: 'src-is-dist', setup: takeSrcFromDist }],
})
const { status } = spawnSync(process.execPath, ['--enable-source-maps', bundle, ...args], { stdio: 'inherit' })
rmSync(bundle, { force: true })
process.exit(status ?? 1)

/** @param {esbuild.PluginBuild} build */
function takeSrcFromDist(build) {
  build.onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir }) => {
    const inside = relative(join(root, 'src'), join(resolveDir, path))
    if (inside.startsWith('..')) return undefined
    const file = join('..', 'dist', inside.replace(/\.ts$/, '.js'))
    return { path: file.split(sep).join('/'), external: true }
  })
}
