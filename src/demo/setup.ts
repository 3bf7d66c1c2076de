// Sets up the demo: a folder with the sample repository, a workspace, and the configuration that describes the
// scripted agent to the supervisor, as a person would describe their own agent.

import { execFileSync } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

export interface DemoSetupOptions {
  readonly folder: string
  /** What starts Baton: the scripted agent is one of its commands. */
  readonly baton: readonly string[]
  /** Milliseconds that the agent thinks before each reply. */
  readonly pace: number
  readonly perTurn?: number
  readonly modules?: number
  readonly window?: number
  readonly growth?: number
  /** Overrides parts of the agent's description. */
  readonly agent?: Readonly<Record<string, unknown>>
  /** More for the `supervisor` section. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** More sections. */
  readonly sections?: Readonly<Record<string, unknown>>
}

export interface DemoSetup {
  readonly sample: Sample
  readonly workspace: string
  readonly config: string
}

/** The folder of the project, in that of the demo. */
export const demoProject = 'till'

export function setUpDemo(options: DemoSetupOptions): DemoSetup {
  const { folder, baton, pace, perTurn = 4, window = 60_000, growth = 6_000, settings = {} } = options
  const project = path.join(folder, demoProject)
  const sample = makeSample(project, options.modules)
  const home = path.join(folder, 'agent')
  const flags = { home, window, growth, pace, 'per-turn': perTurn }
  const scripted = {
    label: 'scripted agent',
    command: [
      ...baton,
      'scripted-agent',
      ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ],
    env: { PI_CODING_AGENT_DIR: home },
    transcript: 'pi',
    launch: ['--session-id={session}', '{prompt}'],
    resume: ['--session', '{session}'],
    turn: ['--print', '--session-id={session}', '{prompt}'],
    resumeTurn: ['--print', '--session', '{session}', '{prompt}'],
    clear: '/clear',
    interrupt: ['Escape'],
    ready: '^›(?: (.*))?$',
    busy: '^… working',
  }
  // The context fills within a minute here, so nothing waits for things to calm down.
  const supervisor = {
    cooldownSeconds: 0,
    ...settings,
    agents: { scripted: { ...scripted, ...options.agent } },
  }
  const config = path.join(project, 'baton.config.json')
  fs.writeFileSync(config, `${JSON.stringify({ supervisor, ...options.sections }, null, 2)}\n`)
  return { sample, workspace: path.join(project, '.baton'), config }
}

/**
 * The sample job: a small repository with tests that hold only hashes of the expected values, and a task that names the values.
 * An agent can finish it only with the facts of its task and of what it has seen since.
 */
export interface Sample {
  readonly folder: string
  /** The person's words: the only place where the values are. */
  readonly task: string
  /** Succeeds when the job is done, without a word of loss. */
  readonly check: readonly string[]
}

const plain = ['currency', 'vat', 'prefix', 'cashier', 'drawer', 'printer', 'opening', 'closing']

/** Makes the repository, with a first commit where there is git. `modules`: how many, besides the one that lists the stamps. */
export function makeSample(folder: string, modules = plain.length): Sample {
  const names = Array.from({ length: modules }, (_, i) => plain[i] ?? `shelf${i + 1}`)
  const values = new Map(names.map((name) => [name, valueOf(name)]))
  const hashes = Object.fromEntries([...values].map(([name, value]) => [name, sha256(value)]))
  const files: Record<string, string> = {
    '.gitignore': '.baton/\n',
    'package.json': `${JSON.stringify({ name: 'till', private: true, type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
    'README.md': '# Till\n\nThe settings of a cash register, one module each. `npm test` knows what they have to be.\n',
    'scripts/stamp.mjs': stampScript,
    'test/wanted.json': `${JSON.stringify(hashes, null, 2)}\n`,
    'test/till.test.js': testScript,
  }
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), text)
  }
  const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { stdio: 'ignore' })
  try {
    git('init', '-q', '-b', 'main')
    git('add', '.')
    git('-c', 'user.name=Sample', '-c', 'user.email=sample@localhost', 'commit', '-q', '-m', 'Start the till')
  } catch (error) {
    // On a machine without git, a plain folder will do.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return { folder, task: taskOf(values), check: [process.execPath, '--test'] }
}

function taskOf(values: ReadonlyMap<string, string>): string {
  const names = [...values.keys()]
  return `Finish the till in this repository: one module after the other, each exports one constant as a string.

${names.map((name) => `- \`src/${name}.js\` holds \`${name}\``).join('\n')}
- \`src/stamps.js\` holds \`stamps\`

These values bind. They are written nowhere else, so keep them:

${[...values].map(([name, value]) => `- \`${name}\` is \`${value}\``).join('\n')}

After each module run \`node scripts/stamp.mjs NAME\`: it prints a stamp, and only once. The last module lists all of
them, as "name:stamp", with spaces between. The job is done when \`node --test\` passes.
`
}

function valueOf(name: string): string {
  const number = String(randomInt(1_000, 10_000))
  switch (name) {
    case 'currency':
      return `${['EUR', 'CHF', 'SEK', 'PLN'][randomInt(4)]}/${number}`
    case 'vat':
      return `${randomInt(5, 26)}.${number}`
    case 'opening':
    case 'closing':
      return `${String(randomInt(24)).padStart(2, '0')}:${number}`
    default:
      return `${name.slice(0, 2).toUpperCase()}-${number}`
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const stampScript = `// Stamps a finished module: prints a number once and keeps only its hash.
import { createHash, randomInt } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'

const [name] = process.argv.slice(2)
const module = await import(new URL(\`../src/\${name}.js\`, import.meta.url))
if (typeof module[name] !== 'string') throw new Error(\`src/\${name}.js does not export \${name}\`)
const file = new URL(\`../stamps/\${name}\`, import.meta.url)
if (existsSync(file)) {
  console.log(\`\${name} was stamped before\`)
  process.exit(1)
}
const stamp = String(randomInt(100_000, 1_000_000))
mkdirSync(new URL('.', file), { recursive: true })
writeFileSync(file, createHash('sha256').update(stamp).digest('hex'))
console.log(\`\\\`stamp \${name}\\\` is \\\`\${stamp}\\\`\`)
`

const testScript = `import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import test from 'node:test'

const wanted = JSON.parse(readFileSync(new URL('wanted.json', import.meta.url), 'utf8'))
const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const load = async (name) => (await import(new URL(\`../src/\${name}.js\`, import.meta.url)))[name]

for (const [name, hash] of Object.entries(wanted)) {
  test(\`\${name} is as it was told\`, async () => assert.equal(sha256(await load(name)), hash))
  test(\`the stamp of \${name} is remembered\`, async () => {
    const stamps = new Map((await load('stamps')).split(' ').map((each) => each.split(':')))
    const kept = readFileSync(new URL(\`../stamps/\${name}\`, import.meta.url), 'utf8')
    assert.equal(sha256(stamps.get(name) ?? ''), kept)
  })
}
`
