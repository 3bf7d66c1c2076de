// Claude Code with Baton connected, against the scripted model: `connect-claude FOLDER`. Prints what came of each step.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { call, say, startModelServer } from '../support/model-server/index.ts'
import { claude } from './claude.ts'
import { environment, makeStage, runTurn } from './stage.ts'

const cli = path.join(import.meta.dirname, '../../dist/cli/main.js')
const [folder = ''] = process.argv.slice(2)
let replies = 0
const append = 'mcp__plugin_baton_baton__tape_append'
const note = { kind: 'message', payload: { role: 'user', content: 'from claude' } }
const server = await startModelServer({
  script: ({ tools, messages }) => {
    if (tools.length === 0) return say('Notes')
    replies++
    const asked =
      messages.filter(({ role, text }) => role === 'user' && !text.startsWith('Tool loaded.')).at(-1)?.text ?? ''
    const used = messages.flatMap(({ toolCalls }) => toolCalls.map((each) => each.name))
    if (asked.trim().endsWith('note this') && !used.includes(append)) {
      if (tools.includes(append)) return call(append, { tape: 'notes', entries: [note] })
      // Newer versions give the model the tools of servers only when it has searched for them.
      if (tools.includes('ToolSearch') && !used.includes('ToolSearch') && used.length > 0)
        return call('ToolSearch', { query: `select:${append}`, max_results: 1 })
      // Claude Code begins before a server that starts slowly has told its tools, and offers them when it has.
      if (used.length < 60) return call('Bash', { command: 'sleep 1', description: 'Waits' })
    }
    return say(`Reply ${replies}.`, { usage: { input: 20_000 + 1_000 * replies, output: 10 } })
  },
})
const stage = makeStage(folder, server.url)
claude.prepare(stage)
const settings = path.join(stage.home, '.claude/settings.json')
const own = {
  ...(JSON.parse(fs.readFileSync(settings, 'utf8')) as object),
  permissions: { allow: ['Bash', append], defaultMode: 'acceptEdits' },
  statusLine: { type: 'command', command: 'echo mine' },
  hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `echo ran >> ${path.join(folder, 'own-hook')}` }] }] },
}
fs.writeFileSync(settings, `${JSON.stringify(own, null, 4)}\n\n`)
const before = fs.readFileSync(settings, 'utf8')

const env = environment(claude, stage)
function baton(...args: string[]): string {
  const ran = spawnSync(process.execPath, [cli, ...args], { cwd: stage.project, env, encoding: 'utf8' })
  if (ran.status !== 0) throw new Error(`baton ${args.join(' ')}: ${ran.stderr}${ran.stdout}`)
  return ran.stdout
}

/** A turn, and how often the model was given the words in its last request. */
async function turn(prompt: string, words: string, session?: string): Promise<{ session: string; times: number }> {
  const { code, out, err } = await runTurn(claude, stage, prompt, { session })
  if (code !== 0) throw new Error(`claude ended with ${code}: ${err}${out}`)
  const last = server.requests.findLast(({ tools }) => tools.length > 0)
  const times = JSON.stringify([last?.system, last?.messages]).split(words).length - 1
  return { session: (JSON.parse(out) as { session_id: string }).session_id, times }
}

const tag = '<handoff-context>'
const connected = baton('connect', 'claude')
const again = baton('connect', 'claude')
const first = await turn('never touch the file core.ts, and note this', tag)
const notes = baton('tape', 'read', 'notes', '--json')
baton('handoff', '--next', '--quiet')
const second = await turn('and now?', tag)
const resumed = await turn('once more', tag, second.session)
const third = await turn('something else', tag)
await runTurn(claude, stage, '/compact', { session: second.session })
const compacted = await turn('where were we?', 'was compacted just now', second.session)
const command = await turn('/baton:handoff ship it', 'the next session in this folder opens with it', third.session)
const fourth = await turn('hello', 'ship it')
// What the hooks have left is done in the background; whatever is still waiting is done now.
baton('hook', '--work')
const worked = baton('handoff', 'ls', '--json')
const statusInput = JSON.stringify({ session_id: second.session, context_window: { used_percentage: 43.2 } })
const status = spawnSync(process.execPath, [cli, 'hook', 'claude', 'statusline'], {
  env,
  input: statusInput,
  encoding: 'utf8',
})
const doctor = baton('doctor', '--json')
const log = path.join(stage.home, '.local/state/baton/hooks/hook.log')
baton('disconnect', 'claude')
process.stdout.write(
  JSON.stringify({
    connected,
    again,
    notes,
    first,
    second,
    resumed,
    third,
    compacted,
    command,
    fourth,
    worked,
    status: status.stdout,
    doctor,
    ownHook: fs.readFileSync(path.join(folder, 'own-hook'), 'utf8').split('\n').length - 1,
    log: fs.existsSync(log) ? fs.readFileSync(log, 'utf8') : '',
    restored: fs.readFileSync(settings, 'utf8') === before && !fs.existsSync(path.join(stage.home, '.claude/skills')),
    problems: server.problems,
  }),
)
await server.close()
