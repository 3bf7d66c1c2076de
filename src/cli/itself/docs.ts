// `baton docs`: the pages that come with Baton, for when there is no network.

import fs from 'node:fs'
import path from 'node:path'
import { NotFoundError } from '../../errors.ts'
import { nearest } from '../../tape/index.ts'
import { type Globals, Output } from '../base/output.ts'

export async function docs(globals: Globals, topic?: string): Promise<void> {
  const out = new Output(globals)
  const folder = folderOf(globals)
  const pages = fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({ topic: name.slice(0, -3), file: path.join(folder, name) }))
    .sort((a, b) => (a.topic < b.topic ? -1 : 1))
  if (topic === undefined) {
    out.list(
      pages.map((page) => ({ ...page, title: titleOf(page.file) })),
      { head: ['TOPIC', 'ABOUT'], row: ({ topic, title }) => [topic, title] },
    )
    return out.note('\nRead one with "baton docs TOPIC".')
  }
  const begins = pages.filter((page) => page.topic.startsWith(topic))
  const found = pages.find((page) => page.topic === topic) ?? (begins.length === 1 ? begins[0] : undefined)
  if (found === undefined) {
    const close = nearest(
      topic,
      pages.map((page) => page.topic),
    ) // prettier keeps it short
    throw new NotFoundError(
      `There is no page "${topic}"`,
      close.length > 0 ? { nearest: close } : { hint: 'See "baton docs".' },
    )
  }
  const text = fs.readFileSync(found.file, 'utf8')
  if (out.json) out.data({ ...found, text })
  else out.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Beside the program, in the package as in the repository. */
function folderOf({ io }: Globals): string {
  const program = fs.existsSync(io.self[1]) ? fs.realpathSync(io.self[1]) : io.self[1]
  const folder = path.resolve(path.dirname(program), '../../docs')
  if (fs.existsSync(folder)) return folder
  throw new NotFoundError('The pages are not beside this program', { hint: 'Install the package again.' })
}

function titleOf(file: string): string {
  return /^# (.+)$/m.exec(fs.readFileSync(file, 'utf8'))?.[1] ?? ''
}
