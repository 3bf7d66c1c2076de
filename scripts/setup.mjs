// A fresh clone needs no instructions: every npm script comes through here first, and what is missing is put in place.
// When nothing is missing this is a few milliseconds. Node built-ins only, since there may be no node_modules yet.
//
//   setup.mjs             packages and build
//   setup.mjs --no-build  packages only
//   setup.mjs --tests     packages, build, and the programs that the tests drive
import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { buildFingerprint, clearStamp, installFingerprint, readStamp, root, writeStamp } from './stamps.mjs'

/** Program that must be on PATH: Debian package that brings it. A suite that drives another program adds it here. */
const TEST_PACKAGES = {
  chromium: 'chromium',
  ip: 'iproute2',
  'nats-server': 'nats-server',
  openssl: 'openssl',
  pg_ctlcluster: 'postgresql',
  sqlite3: 'sqlite3',
  tmux: 'tmux',
}

const flags = new Set(process.argv.slice(2))
// Side by side, since most of the time is the network's. One that fails says so at once and lets the others end: a second
// start finds what they have done.
const steps = [
  installPackages().then(() => (flags.has('--no-build') ? undefined : build())),
  ...(flags.has('--tests') ? [installPrograms(), ...installTestPackages()] : []),
]
await Promise.all(
  steps.map((step) =>
    Promise.resolve(step).catch((error) => {
      say(error.message)
      process.exitCode = 1
    }),
  ),
)

async function installPackages() {
  if (readStamp('install') === installFingerprint()) return
  say('installing packages (npm install)')
  clearStamp('install')
  const npm = process.env['npm_execpath']?.endsWith('npm-cli.js')
    ? [process.execPath, process.env['npm_execpath']]
    : ['npm']
  await run([...npm, 'install', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'])
  writeStamp('install', installFingerprint())
}

/** What only tests use: apart from the product's packages, each by a lock of its own. */
function installTestPackages() {
  return [
    installApart('test/real', '.agents', 'the agents that the tests drive (npm install, 1.3 GB, a minute)'),
    // They hold Node for this platform only; elsewhere the tests of the package run on the Node that runs them.
    `${process.platform}-${process.arch}` === 'linux-x64' &&
      installApart('test/package', '.newcomers', 'other versions of Node and of the AI SDK for the tests'),
    installApart('test/mcp/conformance', '.conformance', 'the conformance suite of MCP'),
  ]
}

/** @param {string} from the folder with the lock @param {string} to in node_modules @param {string} what */
async function installApart(from, to, what) {
  const [source, target] = [join(root, from), join(root, 'node_modules', to)]
  const lock = readFileSync(join(source, 'package-lock.json'), 'utf8')
  const installed = join(target, 'node_modules/.package-lock.json')
  const stamp = join(target, '.installed')
  if (existsSync(installed) && existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  say(`installing ${what}`)
  mkdirSync(target, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(source, name), join(target, name))
  // Not `npm ci`: that wants the programs of every platform in the lock, and a registry may lack some. With --force,
  // because a package for another version of Node is wanted here, and npm would warn of it.
  await run([
    'npm',
    'install',
    '--prefix',
    target,
    '--ignore-scripts',
    '--force',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ])
  writeFileSync(stamp, lock)
}

async function build() {
  if (readStamp('build') === buildFingerprint() && existsSync(join(root, 'dist/cli/main.js'))) return
  say('building dist/')
  await run([process.execPath, join(root, 'scripts/build.mjs')])
}

async function installPrograms() {
  const missing = Object.entries(TEST_PACKAGES).filter(([program]) => !onPath(program))
  if (missing.length === 0) return
  const packages = [...new Set(missing.map(([, name]) => name))].join(' ')
  const command = `apt-get update && apt-get install -y --no-install-recommends ${packages}`
  const names = missing.map(([program]) => program).join(', ')
  const asRoot = process.getuid?.() === 0
  if (!onPath('apt-get') || !(asRoot || works(['sudo', '-n', 'true']))) {
    throw new Error(`the tests drive ${names}, which this machine lacks. Install with:\n${command}`)
  }
  say(`installing ${names} (apt-get)`)
  const shell = ['env', 'DEBIAN_FRONTEND=noninteractive', 'sh', '-c', command]
  await run(asRoot ? shell : ['sudo', '-n', ...shell])
  const still = missing.filter(([program]) => !onPath(program)).map(([program]) => program)
  if (still.length > 0) throw new Error(`${still.join(', ')} still missing after: ${command}`)
}

/** @param {string} program */
function onPath(program) {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** @param {string[]} command */
function works([program = '', ...args]) {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}

/** Quiet unless it fails. @param {string[]} command @returns {Promise<void>} */
function run([program = '', ...args]) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const failure = () => new Error(`${[program, ...args].join(' ')} failed\n${output}`.trimEnd())
    child.on('error', ({ message }) => ((output += message), reject(failure())))
    child.on('close', (code) => (code === 0 ? resolve() : reject(failure())))
  })
}

/** On stderr, so that `npm start -- … --json` keeps its stdout clean. @param {string} line */
function say(line) {
  process.stderr.write(`setup: ${line}\n`)
}
