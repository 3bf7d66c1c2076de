import fs from 'node:fs'
import path from 'node:path'
import { type ModelRequest, type Reply, say } from '../support/model-server/index.ts'
import { gemini } from './gemini.ts'
import { fixtures, keep, lastAsked, open, root, Screen, writeAsked } from './recorder.ts'
import { story, type Tools } from './script.ts'
import type { Stage } from './stage.ts'

const tools: Tools = {
  write: (file, content) => ({
    name: 'write_file',
    arguments: { file_path: path.join(root, 'gemini/project', file), content },
  }),
  shell: (command) => ({ name: 'run_shell_command', arguments: { command, description: 'check' } }),
}

const summary = 'We wrote notes.txt and ran its check, which fails with exit status 3. Next: fix the check.'

/** A turn with tools, one that its person stops, one that fills the context, the compaction that follows, `/clear`. */
export async function recordGemini(): Promise<void> {
  const tell = story(tools, 540_000)
  const script = (request: ModelRequest): Reply => {
    const words = request.messages.at(-1)?.text ?? ''
    if (words.includes('<state_snapshot>')) return say(`<state_snapshot>\n${summary}\n</state_snapshot>`)
    if (words.endsWith('the wrong question')) return say('This is a long answer. '.repeat(20), { delayMs: 300 })
    return tell(request)
  }
  const { stage, server } = await open(gemini, script)
  const screen = new Screen(gemini, stage)
  await screen.isReady(() => screen.shows('Type your message'))
  for (const prompt of ['please write the notes', 'this was the wrong question', 'now fill the context', 'go on']) {
    await screen.type(prompt)
    if (prompt.endsWith('question')) {
      await screen.isReady(() => screen.shows('This is a long'))
      screen.press('Escape')
      await screen.isReady(() => text(stage).includes('Request cancelled.'))
    } else await screen.isReady(() => isAnswered(stage, prompt))
    await screen.isReady(() => screen.shows('Type your message') && !screen.shows('esc to cancel'))
  }
  const asked = lastAsked(server)
  const before = chats(stage).length
  await screen.type('/clear')
  await screen.isReady(() => chats(stage).length > before && !screen.shows('✦'))
  await screen.type('start afresh')
  await screen.isReady(() => isAnswered(stage, 'start afresh'))
  // It would outlive its terminal.
  await screen.type('/quit')
  await screen.isReady(() => !screen.isThere())
  await server.close()
  const old = path.join(fixtures, 'gemini/.gemini/tmp/project/chats')
  const legacy = fs.readdirSync(old).filter((name) => name.endsWith('.json'))
  const kept = legacy.map((name) => [name, fs.readFileSync(path.join(old, name))] as const)
  keep('gemini', stage, ['.gemini/tmp/project/chats', '.gemini/tmp/project/.project_root'])
  // Of an older version, which wrote another form; written by hand.
  for (const [name, bytes] of kept) fs.writeFileSync(path.join(old, name), bytes)
  writeAsked('gemini', asked)
}

/** A reply follows the prompt, and nothing is called in it. */
function isAnswered(stage: Stage, prompt: string): boolean {
  const all = text(stage)
  const at = all.lastIndexOf(`{"text":${JSON.stringify(prompt)}}]}`)
  const last = all
    .slice(at)
    .split('\n')
    .findLast((line) => line.includes('"type":"gemini"'))
  return at >= 0 && last !== undefined && /"content":"(Done|All right|The context)/.test(last)
}

function text(stage: Stage): string {
  return chats(stage)
    .map((file) => fs.readFileSync(file, 'utf8'))
    .join('')
}

function chats({ home }: Stage): string[] {
  const folder = path.join(home, '.gemini/tmp/project/chats')
  if (!fs.existsSync(folder)) return []
  return fs.readdirSync(folder).map((name) => path.join(folder, name))
}
