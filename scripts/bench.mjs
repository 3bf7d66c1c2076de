// `npm run bench tape` runs bench/tape.ts. What it imports from src/ is taken from dist/: the figures are those of the
// code that ships.
import { existsSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { runBundled } from './bundle.mjs'
import { root } from './stamps.mjs'

const [name, ...args] = process.argv.slice(2)
const folder = join(root, 'bench')
const entry = join(folder, `${name}.ts`)
if (name === undefined || !existsSync(entry)) {
  const names = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.ts')) : []
  console.error(`usage: npm run bench NAME [-- ARGS]\nNAME: ${names.map((file) => file.slice(0, -3)).join(', ')}`)
  process.exit(2)
}

await runBundled([], entry, args, {
  sourcemap: 'inline',
  plugins: [{ name: 'src-is-dist', setup: takeSrcFromDist }],
})

/** @param {import('esbuild').PluginBuild} build */
function takeSrcFromDist(build) {
  build.onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir }) => {
    const inside = relative(join(root, 'src'), join(resolveDir, path))
    if (inside.startsWith('..')) return undefined
    const file = join('..', 'dist', inside.replace(/\.ts$/, '.js'))
    return { path: file.split(sep).join('/'), external: true }
  })
}
