// A turn or two of a real agent against the scripted model: `play AGENT FOLDER PROMPT…`. Prints what the agent printed last.

import path from 'node:path'
import { startModelServer } from '../support/model-server/index.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { story, type Tools } from './script.ts'
import { makeStage, type RealAgent, runTurn } from './stage.ts'

const agents: Record<string, RealAgent> = { claude, codex, pi, gemini, opencode }
const [name = '', folder = '', ...prompts] = process.argv.slice(2)
const agent = agents[name]
if (agent === undefined) throw new Error(`there is no agent ${name}`)

const project = path.join(folder, 'project')
const tools: Record<string, Tools> = {
  claude: {
    write: (file, content) => ({ name: 'Write', arguments: { file_path: path.join(project, file), content } }),
    shell: (command) => ({ name: 'Bash', arguments: { command, description: 'check' } }),
  },
  codex: {
    write: (file, content) => ({ name: 'exec_command', arguments: { cmd: `printf %s '${content.trim()}' > ${file}` } }),
    shell: (command) => ({ name: 'exec_command', arguments: { cmd: command } }),
  },
  pi: {
    write: (file, content) => ({ name: 'write', arguments: { path: file, content } }),
    shell: (command) => ({ name: 'bash', arguments: { command } }),
  },
  gemini: {
    write: (file, content) => ({ name: 'write_file', arguments: { file_path: path.join(project, file), content } }),
    shell: (command) => ({ name: 'run_shell_command', arguments: { command, description: 'check' } }),
  },
  opencode: {
    write: (file, content) => ({ name: 'write', arguments: { filePath: path.join(project, file), content } }),
    shell: (command) => ({ name: 'bash', arguments: { command, description: 'check' } }),
  },
}

const server = await startModelServer({ script: story(tools[name]!, 10_000) })
const stage = makeStage(folder, server.url)
agent.prepare(stage)
let last = ''
for (const prompt of prompts) {
  const { code, out, err } = await runTurn(agent, stage, prompt)
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${err}${out}`)
  last = out
}
if (server.problems.length > 0) throw new Error(server.problems.join('\n'))
await server.close()
process.stdout.write(JSON.stringify({ requests: server.requests.length, out: last }))
