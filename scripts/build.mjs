// Three outputs in dist/: the library as tsc writes it, with its types; the CLI as one script, because hooks call it and one
// file loads much faster than hundreds; and the dashboard, one chunk a page.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import * as esbuild from 'esbuild'
import * as vite from 'vite'
import { buildFingerprint, root, writeStamp } from './stamps.mjs'

/**
 * Packages of which dist/vendor holds what is used: 4 MB there, 60 MB if every installation brought them whole. What they
 * and Baton both need as one copy (zod's schemas, the telemetry of the process) stays outside.
 */
const VENDORED = {
  ai: 'ai',
  '@ai-sdk/anthropic': 'ai-anthropic',
  '@ai-sdk/openai': 'ai-openai',
  '@ai-sdk/openai-compatible': 'ai-openai-compatible',
  'gpt-tokenizer/encodingParams/constants': 'tokenizer-constants',
}
/** Those that are small enough to be in the CLI as well. */
const SMALL = ['gpt-tokenizer/encodingParams/constants']
const OUTSIDE = ['zod', 'zod/*', '@opentelemetry/*']

// Taken before the build, so that a source saved meanwhile is built next time.
const fingerprint = buildFingerprint()
const next = join(root, 'dist.next')
rmSync(next, { recursive: true, force: true })

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const types = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', next], {
  cwd: root,
  stdio: ['ignore', 2, 2],
})
if (types.status !== 0) process.exit(1)

const requireForBundles =
  "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);"
const vendor = await esbuild.build({
  absWorkingDir: root,
  metafile: true,
  entryPoints: Object.fromEntries(Object.entries(VENDORED).map(([name, file]) => [file, name])),
  outdir: join(next, 'vendor'),
  chunkNames: 'chunk-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  minify: true,
  legalComments: 'none',
  external: OUTSIDE,
  banner: { js: requireForBundles },
  logLevel: 'warning',
})
importFromVendor()
const { makeTable } = await import(join(next, 'tape/vocabulary.js'))
const vocabulary = readFileSync(join(root, 'node_modules/gpt-tokenizer/data/o200k_base.tiktoken'), 'latin1')
writeFileSync(join(next, 'vendor/o200k.table'), makeTable(vocabulary))

/** @satisfies {esbuild.BuildOptions} */
const program = {
  absWorkingDir: root,
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20.19',
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  // A script that was compiled before cannot import; Node can require modules just as well.
  supported: { 'dynamic-import': false },
}
// One script, since V8 keeps the compiled code of scripts, not of modules (src/cli/start.ts). What is imported when it is
// needed is still run only then. What people and agents wait for most has a script without the other commands: V8 makes every
// function of a script at its start, and these need a third of them.
const scripts = [
  await buildProgram('program.js'),
  await buildProgram('handoff.js', commandsIn('handoff')),
  await buildProgram('sessions.js', commandsIn('sessions')),
  await buildProgram('tape.js', commandsIn('tape')),
  await buildProgram('hook.js', (_importer, path) => path === './connect/hook.ts'),
]
const code = createHash('sha256')
for (const script of scripts) code.update(script.code)
const hash = code.digest('hex').slice(0, 16)
const main = join(next, 'cli', 'main.js')
await esbuild.build({
  ...program,
  entryPoints: ['src/cli/start.ts'],
  outfile: main,
  define: { BUNDLE_HASH: JSON.stringify(hash) },
  banner: { js: '#!/usr/bin/env node' },
})
chmodSync(main, 0o755)
writeFileSync(join(next, 'cli', 'package.json'), '{ "type": "commonjs" }\n')

writeLicences([vendor.metafile, ...scripts.map(({ metafile }) => metafile)], await buildDashboard())

writeManPage()

rmSync(join(root, 'dist'), { recursive: true, force: true })
renameSync(next, join(root, 'dist'))
writeStamp('build', fingerprint)

/** @param {string} name @param {(importer: string, path: string) => boolean} [keeps] what commands do that it has; all unless given */
async function buildProgram(name, keeps = () => true) {
  const outfile = join(next, 'cli', name)
  const { metafile } = await esbuild.build({
    ...program,
    metafile: true,
    entryPoints: ['src/cli/main.ts'],
    outfile,
    // A native addon cannot be bundled; the heavy ones are imported only by the commands that need them.
    external: ['fs-native-extensions', '@opentelemetry/*', '@nats-io/*', 'pg', 'pg-connection-string'],
    // Its entry for Node is UMD, which cannot be bundled.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    define: { 'import.meta.url': 'bundleUrl' },
    // The function that src/cli/start.ts calls: put around the code there, V8 would copy all of it.
    banner: {
      js: `(function (exports, require, module, __filename, __dirname) {
const bundleUrl = require('node:url').pathToFileURL(__filename).href, ofNode = new Map();
function importNode(name) { if (!ofNode.has(name)) ofNode.set(name, __toESM(require(name), 1)); return ofNode.get(name) }`,
    },
    footer: { js: '})' },
    // What is not there need not be read at each start.
    minifyWhitespace: true,
    lineLimit: 160,
    plugins: [
      { name: 'own-commands', setup: (build) => leaveOutOtherCommands(build, keeps) },
      { name: 'vendored', setup: leaveInVendor },
      { name: 'one-language', setup: keepOneLanguage },
      { name: 'past-the-index', setup: importPastTheIndex },
    ],
  })
  // In ASCII it is read in a fraction of the time. esbuild leaves patterns and `String.raw` as they are; what we write with the
  // latter are patterns too, where the escape means the same.
  const code = importNodeOnce(readFileSync(outfile, 'utf8')).replaceAll(
    /[^\0-\x7F]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  writeFileSync(outfile, code)
  return { metafile, code }
}

/** Each import of a module of Node would copy all that it exports: one copy serves all. @param {string} code */
function importNodeOnce(code) {
  return code.replaceAll(/__toESM\(require\("(node:[\w/]+)"\),1\)/g, 'importNode("$1")')
}

/** What the commands do that `src/cli/ROOM/commands.ts` adds. @param {string} room */
function commandsIn(room) {
  const own = new RegExp(String.raw`[\\/]src[\\/]cli[\\/]${room}[\\/]commands\.ts$`)
  return (/** @type {string} */ importer, /** @type {string} */ path) => path === './program.ts' || own.test(importer)
}

/**
 * What other commands do is never asked for: src/cli/start.ts looks at the command first.
 * @param {esbuild.PluginBuild} build @param {(importer: string, path: string) => boolean} keeps
 */
function leaveOutOtherCommands(build, keeps) {
  // `base` declares none: its code belongs to every command.
  const declares = /[\\/]src[\\/]cli[\\/](?:main|program|(?!base[\\/])\w+[\\/]commands)\.ts$/
  build.onResolve({ filter: /^\.\.?\// }, ({ kind, importer, path }) =>
    kind === 'dynamic-import' && declares.test(importer) && !keeps(importer, path)
      ? { path, external: true }
      : undefined,
  )
}

/** The CLI shares the large packages with the library. @param {esbuild.PluginBuild} build */
function leaveInVendor(build) {
  for (const [name, file] of Object.entries(VENDORED).filter(([name]) => !SMALL.includes(name))) {
    const exactly = new RegExp(`^${name.replaceAll('/', '\\/')}$`)
    build.onResolve({ filter: exactly }, () => ({ path: `../vendor/${file}.js`, external: true }))
  }
}

/** Points the library's imports at dist/vendor; its types go on naming the packages. */
function importFromVendor() {
  const scripts = readdirSync(next, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
  for (const script of scripts.filter((name) => !name.startsWith('vendor'))) {
    const code = readFileSync(join(next, script), 'utf8')
    const up = script.split(/[\\/]/).length > 1 ? '../'.repeat(script.split(/[\\/]/).length - 1) : './'
    const changed = code.replace(/(\bfrom |\bimport\()'([^'.][^']*)'/g, (whole, before, name) =>
      Object.hasOwn(VENDORED, name)
        ? `${before}'${up}vendor/${VENDORED[/** @type {keyof typeof VENDORED} */ (name)]}.js'`
        : whole,
    )
    if (changed !== code) writeFileSync(join(next, script), changed)
  }
}

/** Returns the files of packages that are in it. */
async function buildDashboard() {
  const folder = join(root, 'src/web')
  const built = await vite.build({ root: folder, build: { outDir: join(next, 'web'), emptyOutDir: true } })
  const outputs = [built].flat().flatMap((each) => ('output' in each ? each.output : []))
  return outputs.flatMap((each) => (each.type === 'chunk' ? each.moduleIds : (each.originalFileNames ?? [])))
}

/**
 * The licences of the packages whose code is in the bundles.
 * @param {esbuild.Metafile[]} metafiles @param {string[]} files
 */
function writeLicences(metafiles, files) {
  const own = files.map((file) => relative(root, resolve(root, 'src/web', file.replace(/[\0?].*$/, ''))))
  const inputs = [...metafiles.flatMap(({ inputs }) => Object.keys(inputs)), ...own]
  const folders = inputs.flatMap((name) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(name) ?? [])
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((each) => /^licen[cs]e/i.test(each))
    const text = file === undefined ? '' : `\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`
    return `${name} ${version} (${license})\n${text}`
  })
  writeFileSync(join(next, 'THIRD-PARTY.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`))
}

/**
 * `import { z } from 'zod'` keeps zod's messages in fifty languages, a third of a megabyte to parse at each start; we
 * print one. (`import * as z` leaves out more of zod, but packages we bundle do not all write it so.)
 * @param {esbuild.PluginBuild} build
 */
function keepOneLanguage(build) {
  build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
    contents: "export { default as en } from './en.js'",
  }))
}

/**
 * esbuild splits by file: whoever imports one name from a room's index.ts would load all that the index names. So the
 * bundle imports each name from the file that defines it, as if the index were not there.
 * @param {esbuild.PluginBuild} build
 */
function importPastTheIndex(build) {
  /** Index file: name that it exports: the file and the name there. @type {Map<string, Map<string, [string, string]>>} */
  const indexes = new Map()
  const statement = /^(import|export)( type)? \{([^}]*)\} from '((?:\.\.\/)+[a-z]+\/index\.ts)'/gm
  build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
    const contents = readFileSync(path, 'utf8').replace(statement, (whole, keyword, type, list, from) => {
      if (type) return whole
      const exported = namesOf(join(dirname(path), from))
      return split(list)
        .map(([name, alias]) => {
          const [file, original] = exported.get(name) ?? [from, name]
          return `${keyword} { ${original} as ${alias} } from '${file}'`
        })
        .join('; ')
    })
    return { contents, loader: 'ts' }
  })

  /** @param {string} index */
  function namesOf(index) {
    const known = indexes.get(index)
    if (known !== undefined) return known
    /** @type {Map<string, [string, string]>} */
    const names = new Map()
    for (const [, list = '', file = ''] of readFileSync(index, 'utf8').matchAll(
      /^export \{([^}]*)\} from '(\.\/[^']+)'/gm,
    )) {
      for (const [name, alias] of split(list)) names.set(alias, [join(dirname(index), file), name])
    }
    indexes.set(index, names)
    return names
  }

  /** The values among the names of a statement: [name, alias]. @param {string} list @returns {[string, string][]} */
  function split(list) {
    const items = list.split(',').map((item) => item.trim())
    return items
      .filter((item) => item !== '' && !item.startsWith('type '))
      .map((item) => {
        const [name = '', alias = name] = item.split(' as ')
        return [name, alias]
      })
  }
}

/** The manual of the commands, as they describe themselves. */
function writeManPage() {
  const page = spawnSync(process.execPath, [join(next, 'cli', 'main.js'), 'man'], { encoding: 'utf8' })
  if (page.status !== 0) throw new Error(`baton man failed: ${page.stderr}`)
  writeFileSync(join(next, 'baton.1'), page.stdout)
}
