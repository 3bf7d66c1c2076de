// Another agent with Baton connected, against the scripted model: `connect-agent AGENT FOLDER`. Prints what came of each step.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { call, say, startModelServer } from '../support/model-server/index.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { environment, makeStage, type RealAgent, runTurn, type Stage } from './stage.ts'

const cli = path.join(import.meta.dirname, '../../dist/cli/main.js')
const [name = '', folder = ''] = process.argv.slice(2)

const agents: Record<string, RealAgent> = {
  codex: {
    ...codex,
    // As if the user had trusted the hooks; and Codex does not begin before the server has told its tools.
    turn: (stage, prompt, session) => [
      ...codex.turn(stage, prompt, session),
      '--dangerously-bypass-hook-trust',
      '-c',
      'mcp_servers.baton.required=true',
    ],
  },
  gemini,
  opencode: { ...opencode, prepare: prepareOpencode },
  pi,
}

const server = await startModelServer({
  script: ({ tools, messages }) => {
    if (tools.length === 0) return say('Notes')
    const tool = tools.find((each) => each.endsWith('tape_append'))
    const last = messages.at(-1)
    if (tool === undefined || last?.role !== 'user' || !last.text.trim().endsWith('note this')) return say('Noted.')
    const payload = { role: 'user', content: `from ${name}` }
    return call(tool, { tape: 'notes', entries: [{ kind: 'message', payload }] })
  },
})
const stage = makeStage(fs.realpathSync(folder), server.url)
const agent = agents[name]
if (agent === undefined) throw new Error(`nothing is known of ${name}`)
agent.prepare(stage)
const env = environment(agent, stage)
const before = filesOf(stage.home)
baton('connect', name)
const doctor = baton('doctor', '--json')
  .split('\n')
  .filter((line) => line.includes(`connect ${name}`))
  .map((line) => JSON.parse(line) as { is: string; text: string })
const first = await turn('note this')
baton('handoff', '--next', '--quiet')
const second = await turn('and now?')
const third = await turn('something else')
// What the hooks have left is done in the background; whatever is still waiting is done now.
baton('hook', '--work')
const tapes = baton('tape', 'ls', '--json')
const notes = tapes.includes('"notes"') ? baton('tape', 'read', 'notes', '--json') : ''
baton('disconnect', name)
const log = path.join(stage.home, '.local/state/baton/hooks/hook.log')
const after = filesOf(stage.home)
process.stdout.write(
  JSON.stringify({
    doctor,
    first,
    second,
    third,
    // The tapes of sessions are written by hooks only, since no command was told to import them.
    sessions: tapes.split('\n').filter((line) => line.includes(`"${name}:`)).length,
    notes,
    log: fs.existsSync(log) ? fs.readFileSync(log, 'utf8') : '',
    changed: [...before].filter(([file, text]) => after.get(file) !== text).map(([file]) => file),
    left: [...after].filter(([file, text]) => isOfAgent(file) && text.includes(cli)).map(([file]) => file),
    problems: server.problems,
  }),
)
await server.close()

/** With a plugin opencode waits for this package from npm; a folder that says it has it is believed. */
function prepareOpencode(at: Stage): void {
  opencode.prepare(at)
  for (const file of ['node_modules/@opencode-ai/plugin/package.json', 'package-lock.json']) {
    const found = path.join(at.home, '.config/opencode', file)
    fs.mkdirSync(path.dirname(found), { recursive: true })
    fs.writeFileSync(found, JSON.stringify({ packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } } }))
  }
}

function baton(...args: string[]): string {
  const ran = spawnSync(process.execPath, [cli, ...args], { cwd: stage.project, env, encoding: 'utf8' })
  if (ran.status !== 0) throw new Error(`baton ${args.join(' ')}: ${ran.stderr}${ran.stdout}`)
  return ran.stdout
}

/** How often the model was given the handoff in its last request, and what the agent complained of. */
async function turn(prompt: string): Promise<{ times: number; errors: string[] }> {
  const { code, out, err } = await runTurn(agent!, stage, prompt, { seconds: 180 })
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${err}${out}`)
  const last = server.requests.findLast(({ tools }) => tools.length > 0)
  // Gemini CLI writes the angle brackets of what a hook says as entities.
  const given = JSON.stringify([last?.system, last?.messages]).replaceAll('&lt;', '<').replaceAll('&gt;', '>')
  const times = given.split('<handoff-context>').length - 1
  return {
    times,
    errors: `${err}${out}`.split('\n').filter((line) => /extension error|clamping|hook failed/i.test(line)),
  }
}

/** Sessions and logs of the agent may tell of Baton; its settings may not. */
function isOfAgent(file: string): boolean {
  const place = path.relative(stage.home, file)
  return (
    ['.codex', '.gemini', '.config', '.pi'].some((top) => place.startsWith(`${top}/`)) && !place.includes('session')
  )
}

function filesOf(top: string): Map<string, string> {
  return new Map(
    fs
      .readdirSync(top, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile() && !each.name.includes('sqlite'))
      .map((each) => path.join(each.parentPath, each.name))
      .map((file) => [file, fs.readFileSync(file, 'utf8')]),
  )
}
