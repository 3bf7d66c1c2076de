// What a project says to agents: AGENTS.md and CLAUDE.md in the folder and in the folders above it, up to the root of the repository.

import fs from 'node:fs'
import path from 'node:path'

export interface Instructions {
  readonly file: string
  readonly text: string
}

const names = ['AGENTS.md', 'CLAUDE.md']
const maxBytes = 64 * 1024

/** The outermost first, so that what stands closer has the last word. A file that repeats another is left out. */
export function projectInstructions(folder: string): Instructions[] {
  const found: Instructions[] = []
  for (const place of foldersTo(folder)) {
    for (const name of names) {
      const file = path.join(place, name)
      const text = readText(file)
      // CLAUDE.md is often a link to AGENTS.md, or nothing but its name.
      if (text === '' || /^@(?:\.\/)?AGENTS\.md$/.test(text) || found.some((other) => other.text === text)) continue
      found.push({ file, text })
    }
  }
  return found
}

/** From the root of the repository, or from the folder itself where there is none. */
function foldersTo(folder: string): string[] {
  const folders: string[] = []
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    folders.unshift(at)
    if (fs.existsSync(path.join(at, '.git'))) return folders
    if (path.dirname(at) === at) return [path.resolve(folder)]
  }
}

function readText(file: string): string {
  try {
    if (!fs.statSync(file).isFile()) return ''
    const bytes = fs.readFileSync(file)
    const text = bytes.subarray(0, maxBytes).toString('utf8').trim()
    return bytes.length > maxBytes ? `${text}\n[the rest of ${path.basename(file)} is left out]` : text
  } catch {
    return '' // not there, or not ours to read
  }
}

/** As a part of the system prompt. */
export function instructionsText(instructions: readonly Instructions[]): string {
  return instructions
    .map(({ file, text }) => `<project_instructions file=${JSON.stringify(file)}>\n${text}\n</project_instructions>`)
    .join('\n\n')
}
