import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Agent, Record, SessionFile } from '../agent.ts'
import { fields, isFields, list } from '../fields.ts'
import { filesBelow } from '../folder.ts'
import { geminiParser } from './parser.ts'

export const gemini: Agent = {
  name: 'gemini',
  label: 'Gemini CLI',
  folders: (env) => [path.join(env.GEMINI_CLI_HOME || env.HOME || os.homedir(), '.gemini', 'tmp')],
  find(folder) {
    const files = filesBelow(folder, 3, (name) => /\.jsonl?$/.test(name)).filter(({ path: at }) =>
      at.split(path.sep).includes('chats'),
    )
    const lines = new Set(files.filter(({ name }) => name.endsWith('l')).map((file) => file.path))
    return files
      .filter((file) => !lines.has(`${file.path}l`)) // moved over to the newer form
      .map(({ path: at, name, bytes, changed }): SessionFile => {
        const id = name.replace(/\.jsonl?$/, '').replace(/^session-/, '')
        const above = path.basename(path.dirname(at))
        return { agent: 'gemini', path: at, id, bytes, changed, ...(above === 'chats' ? {} : { parent: above }) }
      })
  },
  recognises: (line) => typeof line.sessionId === 'string' && typeof line.projectHash === 'string',
  parser: geminiParser,
  records: ({ path: file }) => (file.endsWith('.json') ? messagesIn(file) : undefined),
  hints({ path: file }) {
    const project = path.join(file.slice(0, file.lastIndexOf(`${path.sep}chats${path.sep}`)), '.project_root')
    try {
      return { cwd: fs.readFileSync(project, 'utf8').trim() }
    } catch {
      return {} // older versions name the project by a hash only
    }
  },
}

/** The older form is one object, written anew each time. */
function* messagesIn(file: string): Generator<Record> {
  const whole: unknown = JSON.parse(fs.readFileSync(file, 'utf8'))
  if (!isFields(whole)) return
  const { messages, ...about } = whole
  yield { value: about, place: place(0) }
  let number = 1
  for (const message of list(messages)) yield { value: fields(message), place: place(number++) }
}

function place(number: number): string {
  return String(number).padStart(9, '0')
}
