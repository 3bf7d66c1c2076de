import { spawnSync } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'
import { UnsupportedError } from '../../errors.ts'
import type { Agent, Record, SessionFile } from '../agent.ts'
import { fields, isFields, json } from '../fields.ts'
import { filesBelow } from '../folder.ts'
import { codexParser } from './parser.ts'

export const codex: Agent = {
  name: 'codex',
  label: 'Codex',
  folders: (env) => {
    const home = env.CODEX_HOME || path.join(env.HOME || os.homedir(), '.codex')
    return [path.join(home, 'sessions'), path.join(home, 'archived_sessions')]
  },
  find: (folder) =>
    filesBelow(folder, 3, (name) => /^rollout-.*\.jsonl(\.zst)?$/.test(name)).map(
      ({ path: at, name, bytes, changed }): SessionFile => {
        const id = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/.exec(name)?.[1]
        return { agent: 'codex', path: at, id: id ?? name.replace(/\.jsonl(\.zst)?$/, ''), bytes, changed }
      },
    ),
  recognises: (line) =>
    isFields(line.payload) &&
    ['session_meta', 'response_item', 'event_msg', 'turn_context'].includes(String(line.type)),
  parser: codexParser,
  records: ({ path: file }) => (file.endsWith('.zst') ? unpacked(file) : undefined),
}

/** Codex packs what has not been touched for long. */
function* unpacked(file: string): Generator<Record> {
  const { stdout, error, status, stderr } = spawnSync('zstd', ['-dcq', file], { maxBuffer: 2 ** 30 })
  if (error !== undefined || status !== 0) {
    const why = error === undefined ? stderr.toString().trim() : error.message
    throw new UnsupportedError(`${file} is packed, and zstd could not unpack it: ${why}`, {
      hint: 'Install zstd, or resume the session in Codex, which unpacks it.',
    })
  }
  let number = 0
  for (const line of stdout.toString('utf8').split('\n')) {
    number++
    if (line.trim() !== '') yield { value: fields(json(line)), place: String(number).padStart(9, '0') }
  }
}
