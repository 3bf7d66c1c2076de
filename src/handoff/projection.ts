// Saved documents as files, for people and for agents that read files. Named by the minute; two in one minute do not
// collide, and a file that is there is never written over.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { makeFolder } from '../system/folder.ts'

export function projectDocument(folder: string, when: Date, markdown: string): string {
  makeFolder(folder)
  const minute = when.toISOString().slice(0, 16).replaceAll(/[T:]/g, '-')
  const temporary = path.join(folder, `.${randomBytes(6).toString('hex')}.tmp`)
  const fd = fs.openSync(temporary, 'wx', 0o600)
  try {
    fs.writeFileSync(fd, markdown)
    fs.fsyncSync(fd)
    for (let n = 1; ; n++) {
      const file = path.join(folder, `handoff-${minute}${n === 1 ? '' : `-${n}`}.md`)
      try {
        fs.linkSync(temporary, file)
        return file
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
  } finally {
    fs.closeSync(fd)
    fs.rmSync(temporary, { force: true })
  }
}
