// Reads the screen of opencode: whether it waits for a prompt, works, or asks the person something.

import type { ScreenState, Screen } from '../agent.ts'

const question = /△\s*(.+)|Permission required/

export function readScreen({ lines }: Screen): ScreenState {
  const asked = lines.findLastIndex((line) => question.test(line))
  if (asked >= 0 && lines.slice(asked).some((line) => /Allow once|Reject|Allow always/.test(line))) {
    const words = lines.slice(asked, asked + 6).map((line) => line.replaceAll(/[┃△]/g, ' ').trim())
    return { is: 'dialog', question: words.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, 300), about: 'permission' }
  }
  // The input has bars to its left and a foot below; its last line names the model.
  const foot = lines.findLastIndex((line) => /^\s*╹▀{10,}/.test(line))
  if (foot < 0) return lines.some((line) => line.trim() !== '') ? { is: 'unknown' } : { is: 'starting' }
  const width = lines[foot]!.length
  let from = foot
  while (from > 0 && /^\s*┃/.test(lines[from - 1]!) && !/┃\s*$/.test(lines[from - 1]!.trimStart().slice(1))) from--
  const rows = lines.slice(from, foot - 1).map((row) => row.slice(0, width).replace(/^\s*┃/, '').trim())
  const typed = rows.join('\n').trim()
  const draft = typed.startsWith('Ask anything…') ? '' : typed
  const below = lines.slice(foot, foot + 3).join('\n')
  if (!/ctrl\+p|esc (again to )?interrupt/.test(below)) return { is: 'starting' }
  return /esc (again to )?interrupt/.test(below) ? { is: 'busy', draft } : { is: 'prompt', draft }
}
