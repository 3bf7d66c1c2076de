// Programs of the tests, written in TypeScript, as Node can run them. Each is bundled once for all the test files of a run.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { inject } from 'vitest'

const bundles = new Map<string, Promise<string>>()

/** The bundle of a program: `program(new URL('./worker.ts', import.meta.url))`. */
export function program(source: URL): Promise<string> {
  const file = fileURLToPath(source)
  const made = bundles.get(file) ?? bundle(file)
  bundles.set(file, made)
  return made
}

async function bundle(source: string): Promise<string> {
  const name = `${path.basename(source, '.ts')}-${createHash('sha256').update(source).digest('hex').slice(0, 8)}`
  const outfile = path.join(inject('programs'), `${name}.mjs`)
  if (fs.existsSync(outfile)) return outfile
  // Two workers may get here at once; the rename makes either of their bundles appear whole.
  const own = `${outfile}.${process.pid}`
  await build({
    entryPoints: [source],
    outfile: own,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    packages: 'external',
    logLevel: 'warning',
    plugins: [keepPlaces],
  })
  fs.renameSync(own, outfile)
  return outfile
}

/** A bundle lies elsewhere than its sources, so `import.meta` is replaced by what it means in each file of the tests. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  setup(build) {
    build.onLoad({ filter: /[\\/]test[\\/].*\.ts$/ }, ({ path: file }) => {
      if (file.includes(`${path.sep}node_modules${path.sep}`)) return undefined
      const contents = fs
        .readFileSync(file, 'utf8')
        .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file)))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
      return { contents, loader: 'ts' }
    })
  },
}
