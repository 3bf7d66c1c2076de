// What is left of a folder after a power cut, by what the shim has noted: each file as long as it was when last synced,
// under the names its folder had when that was last synced.

import fs from 'node:fs'
import path from 'node:path'

export function afterPowerCut(root: string, log: string, image: string): void {
  const sizes = new Map<number, number>()
  const folders = new Map<string, Record<string, number>>()
  const lines = fs.existsSync(log) ? fs.readFileSync(log, 'utf8').split('\n') : []
  const noted = lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Noted)
  // A line is written after its sync, and syncs of several processes do not end in the order in which they began.
  for (const { ino, size, folder, names } of noted.toSorted((a, b) => a.at - b.at)) {
    if (folder !== undefined) folders.set(folder, names)
    else sizes.set(ino, Math.max(size, sizes.get(ino) ?? 0))
  }
  const files = new Map<number, string>()
  for (const each of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
    const file = path.join(each.parentPath, each.name)
    if (each.isFile()) files.set(fs.statSync(file).ino, file)
  }
  for (const each of [root, path.join(root, 'tape'), path.join(root, 'tape/archived')]) {
    if (!fs.existsSync(each)) continue
    const target = path.join(image, path.relative(root, each))
    fs.mkdirSync(target, { recursive: true })
    for (const [name, ino] of Object.entries(folders.get(each) ?? {})) {
      const source = files.get(ino)
      if (source === undefined) continue
      fs.writeFileSync(path.join(target, name), fs.readFileSync(source).subarray(0, sizes.get(ino) ?? 0))
    }
  }
}

interface Noted {
  readonly at: number
  readonly ino: number
  readonly size: number
  readonly folder?: string
  readonly names: Record<string, number>
}
