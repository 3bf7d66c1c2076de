// `npm run release`: packs the package, installs the tarball into an empty project, tries what a newcomer would, and prints the
// commands that publish it. It publishes nothing itself.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './stamps.mjs'

/** What one installation may take, with everything that it brings. */
const mostMegabytes = 45

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'baton-release-'))
const project = mkdtempSync(join(tmpdir(), 'baton-newcomer-'))

/** @type {string[]} */
const problems = []
try {
  const changes = git('status', '--porcelain')
  if (changes !== '') problems.push(`there are uncommitted changes:\n${changes}`)
  const heading = `## ${manifest.version}`
  if (!readFileSync(join(root, 'CHANGELOG.md'), 'utf8').includes(`\n${heading}`))
    problems.push(`CHANGELOG.md has no section "${heading}": rename "Unreleased"`)
  for (const field of ['repository', 'homepage', 'bugs'])
    if (manifest[field] === undefined)
      problems.push(`package.json has no "${field}": add the public address of the project`)
  if (git('tag', '--list', `v${manifest.version}`) !== '') problems.push(`the tag v${manifest.version} exists already`)

  const [packed] = JSON.parse(run(root, 'npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', folder))
  const tarball = join(folder, packed.filename)
  say(
    `packed ${packed.filename}: ${packed.files.length} files, ${megabytes(packed.size)} (${megabytes(packed.unpackedSize)} unpacked)`,
  )

  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}\n')
  const install = spawnSync('npm', ['install', tarball, '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: project,
    encoding: 'utf8',
  })
  if (install.status !== 0) throw new Error(`npm install failed: ${install.error?.message ?? install.stderr}`)
  // What npm says about the settings of this machine is not about the package.
  const warnings = install.stderr.split('\n').filter((line) => line !== '' && !/Unknown \w+ config/.test(line))
  if (warnings.length > 0) problems.push(`npm install warns:\n${warnings.join('\n')}`)
  const installed = Number.parseInt(run(project, 'du', '-sk', 'node_modules'), 10) / 1024
  say(`installed into an empty project: ${installed.toFixed(0)} MB`)
  if (installed > mostMegabytes)
    problems.push(`an installation takes ${installed.toFixed(0)} MB (at most ${mostMegabytes})`)

  tryDoors()

  if (problems.length > 0) {
    for (const problem of problems) say(`NOT READY: ${problem}`)
    say('When that is done, run this again.')
    process.exitCode = 1
    rmSync(folder, { recursive: true })
  } else {
    const hash = createHash('sha256').update(readFileSync(tarball)).digest('hex')
    say(
      [
        `ready: sha256 ${hash}`,
        '',
        'To publish it:',
        `  git tag -a v${manifest.version} -m "Baton ${manifest.version}"`,
        '  git push --follow-tags',
        `  npm publish --access public ${tarball}`,
      ].join('\n'),
    )
  }
} catch (error) {
  rmSync(folder, { recursive: true, force: true })
  throw error
} finally {
  rmSync(project, { recursive: true, force: true })
}

/** The command line and every entry point of the package, as the project that installed it sees them. */
function tryDoors() {
  const env = { ...process.env, HOME: project, BATON_HOME: join(project, '.baton') }
  const baton = join(project, 'node_modules/.bin/baton')
  const version = run(project, baton, '--version').trim()
  if (version !== manifest.version) problems.push(`baton --version prints ${version}`)
  const entry = '{"kind":"message","payload":{"role":"user","content":"hello"}}\n'
  const steps = [
    [['ls'], ''],
    [['tape', 'append', 'main'], entry],
    [['handoff', '--tape', 'main'], ''],
    [['docs', 'concepts'], ''],
    [['completion', 'bash'], ''],
    [['man'], ''],
    [['config', 'check'], ''],
    [['doctor'], ''],
    [['uninstall', '--dry-run'], ''],
  ]
  for (const [args, input] of /** @type {[string[], string][]} */ (steps)) {
    const { status, stderr } = spawnSync(baton, args, { cwd: project, env, input, encoding: 'utf8' })
    if (status !== 0) problems.push(`baton ${args.join(' ')} fails: ${stderr}`)
    else if (stderr !== '') problems.push(`baton ${args.join(' ')} complains: ${stderr}`)
  }
  const names = Object.keys(manifest.exports).filter((name) => name !== './package.json')
  for (const name of names) {
    const module = `@baton/baton${name.slice(1)}`
    const code = `const found = await import('${module}'); if (Object.keys(found).length === 0) process.exit(1)`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      cwd: project,
      encoding: 'utf8',
    })
    if (status !== 0) problems.push(`import '${module}' fails: ${stderr}`)
  }
  say(`tried ${steps.length + 1} commands and ${names.length} entry points`)
}

/** @param {string} cwd @param {string} program @param {string[]} args */
function run(cwd, program, ...args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (status === 0) return stdout
  throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
}

/** @param {string[]} args */
function git(...args) {
  return run(root, 'git', ...args).trim()
}

/** @param {number} bytes */
function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

/** @param {string} text */
function say(text) {
  console.log(text)
}
