// A small session of Claude Code in a small project, made up: for the recording of the README and for the test of its commands.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const sampleId = '7d1f0c52-3a0e-4c58-9a53-6f7d2b1e9c04'

/**
 * Makes the project `shop` below the home and the transcript that Claude Code would have left of the work in it. Returns the project.
 * @param {string} home @param {{ ended?: number }} [options] when the session ended, in milliseconds
 */
export function makeSample(home, { ended = Date.now() - 8 * 60_000 } = {}) {
  const project = join(home, 'shop')
  mkdirSync(join(project, 'src'), { recursive: true })
  mkdirSync(join(project, 'test'), { recursive: true })
  writeFileSync(join(project, 'src/csv.ts'), csv)
  writeFileSync(join(project, 'test/csv.test.ts'), test)
  writeFileSync(join(project, 'package.json'), '{ "name": "shop", "scripts": { "test": "node --test" } }\n')
  const date = new Date(ended - 3_600_000).toISOString()
  const env = { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date }
  const steps = [
    ['init', '-q', '-b', 'main'],
    ['add', 'package.json'],
    [...author, 'commit', '-qm', 'Begin the shop'],
  ]
  for (const args of steps) execFileSync('git', ['-C', project, ...args], { env })
  const folder = join(home, '.claude/projects', project.replaceAll(/[^a-zA-Z0-9]/g, '-'))
  mkdirSync(folder, { recursive: true })
  const lines = transcript(project)
  const texts = lines.map((line, i) => {
    const timestamp = new Date(ended - (lines.length - 1 - i) * 4_000).toISOString()
    return JSON.stringify({ ...common(project, i), ...line, timestamp })
  })
  writeFileSync(join(folder, `${sampleId}.jsonl`), `${texts.join('\n')}\n`)
  return project
}

const author = ['-c', 'user.name=Sample', '-c', 'user.email=sample@example.com']
const csv = 'export const rows = (text: string) => text.split("\\n").map((line) => line.split(","))\n'
const test = 'import { test } from "node:test"\n'
const failure = 'not ok 1 - commas in quotes\n# tests 4\n# pass 3\n# fail 1\n'

/** @param {string} cwd @param {number} i */
function common(cwd, i) {
  const id = (/** @type {number} */ n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
  const parentUuid = i === 0 ? null : id(i - 1)
  const about = { isSidechain: false, userType: 'external', version: '2.1.197', gitBranch: 'main' }
  return { uuid: id(i), parentUuid, sessionId: sampleId, cwd, ...about }
}

/** @param {string} project */
function transcript(project) {
  const todos = [
    { content: 'Write src/csv.ts', status: 'completed', activeForm: 'Writing src/csv.ts' },
    { content: 'Handle quoted cells', status: 'pending', activeForm: 'Handling quoted cells' },
  ]
  return [
    asks('Write a CSV reader in src/csv.ts with tests. Never add a dependency.'),
    calls(1, 'TodoWrite', { todos }),
    answers(1, 'Todos have been modified successfully.'),
    calls(2, 'Write', { file_path: join(project, 'src/csv.ts'), content: csv }),
    answers(2, `File created successfully at: ${join(project, 'src/csv.ts')}`),
    calls(3, 'Write', { file_path: join(project, 'test/csv.test.ts'), content: test }),
    answers(3, `File created successfully at: ${join(project, 'test/csv.test.ts')}`),
    says('The reader splits lines at commas.', 4),
    asks('Keep empty cells at the end of a line.'),
    calls(5, 'Bash', { command: 'npm test', description: 'Run the tests' }),
    answers(5, `Exit code 1\n${failure}`, true),
    says('Empty cells are kept. One test is red: commas in quotes. I will handle quoted cells next.', 6),
  ]
}

/** @param {string} content */
function asks(content) {
  return { type: 'user', message: { role: 'user', content } }
}

/** @param {unknown} block @param {number} n @param {string} reason */
function replies(block, n, reason) {
  const usage = {
    input_tokens: 12,
    cache_creation_input_tokens: 900,
    cache_read_input_tokens: 66_000 + n * 900,
    output_tokens: 310,
  }
  const about = { type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' }
  const message = { id: `msg_${n}`, ...about, content: [block], stop_reason: reason, usage }
  return { type: 'assistant', requestId: `req_${n}`, message }
}

/** @param {string} text @param {number} n */
function says(text, n) {
  return replies({ type: 'text', text }, n, 'end_turn')
}

/** @param {number} n @param {string} name @param {object} input */
function calls(n, name, input) {
  return replies({ type: 'tool_use', id: `toolu_${n}`, name, input }, n, 'tool_use')
}

/** @param {number} n @param {string} content @param {boolean} [failed] */
function answers(n, content, failed = false) {
  const block = { type: 'tool_result', tool_use_id: `toolu_${n}`, content, ...(failed ? { is_error: true } : {}) }
  return { type: 'user', message: { role: 'user', content: [block] } }
}
