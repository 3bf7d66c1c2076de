// `npm run bench tape` runs bench/tape.ts; `npm run bench` runs every bench, each within a limit. Then the page of figures is made
// again, which `npm run bench page` does alone. What a bench imports from src/ is taken from dist/: the figures are those of the code
// that ships.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { bundle } from './bundle.mjs'
import { root } from './stamps.mjs'

/** A full run takes a fraction of this; what takes longer hangs, or shares its machine. */
const limitMinutes = 30

const [name, ...args] = process.argv.slice(2)
const folder = join(root, 'bench')
const page = await load(join(root, 'scripts/figures/page.ts'))
/** @type {string[]} */
const failed = []
if (name === undefined) {
  for (const each of Object.keys(page.benches)) {
    console.log(`\n== ${each}: ${page.benches[each].about} (about ${page.benches[each].minutes} minutes)`)
    if ((await run(each, [])) !== 0) failed.push(each)
  }
} else if (name !== 'page') {
  if (!existsSync(join(folder, `${name}.ts`))) {
    const names = readdirSync(folder).filter((file) => file.endsWith('.ts') && !file.startsWith('.'))
    console.error(
      `usage: npm run bench [NAME | page] [-- ARGS]\nNAME: ${names.map((file) => file.slice(0, -3)).join(', ')}`,
    )
    process.exit(2)
  }
  if ((await run(name, args)) !== 0) failed.push(name)
}
page.write(join(root, 'docs/bench'))
const readme = await load(join(root, 'scripts/figures/readme.ts'))
const readmeFile = join(root, 'README.md')
writeFileSync(readmeFile, readme.withFigures(readFileSync(readmeFile, 'utf8'), join(root, 'docs/bench')))
console.log('The figures are in docs/bench/figures.md and README.md.')
if (failed.length > 0) {
  console.log(`A target was missed, or the bench failed: ${failed.join(', ')}`)
  process.exitCode = 1
}

/** @param {string} bench @param {string[]} args @returns {Promise<number>} */
async function run(bench, args) {
  const plugins = [{ name: 'src-is-dist', setup: takeSrcFromDist }]
  const file = await bundle(join(folder, `${bench}.ts`), { sourcemap: 'inline', plugins })
  try {
    const timeout = limitMinutes * 60_000
    const { status } = spawnSync(process.execPath, ['--enable-source-maps', file, ...args], {
      stdio: 'inherit',
      timeout,
    })
    return status ?? 1
  } finally {
    rmSync(file, { force: true })
  }
}

/** @param {string} entry */
async function load(entry) {
  const file = await bundle(entry)
  try {
    return await import(file)
  } finally {
    rmSync(file, { force: true })
  }
}

/** @param {import('esbuild').PluginBuild} build */
function takeSrcFromDist(build) {
  build.onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir }) => {
    const inside = relative(join(root, 'src'), join(resolveDir, path))
    if (inside.startsWith('..')) return undefined
    const file = join('..', 'dist', inside.replace(/\.ts$/, '.js'))
    return { path: file.split(sep).join('/'), external: true }
  })
}
