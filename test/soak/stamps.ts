// The command of the job as a soak needs it: it takes a while, so that something can happen in the middle of it, and prints
// the same again when it is run again. What prints only once and to an agent that is dead, nobody can keep.

import fs from 'node:fs'
import path from 'node:path'
import { randomUUID } from 'node:crypto'

export function slowStamps(project: string): void {
  fs.writeFileSync(
    path.join(project, 'scripts/stamp.mjs'),
    `import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'

const [name] = process.argv.slice(2)
const module = await import(new URL(\`../src/\${name}.js\`, import.meta.url))
if (typeof module[name] !== 'string') throw new Error(\`src/\${name}.js does not export \${name}\`)
await new Promise((resolve) => setTimeout(resolve, 400))
const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const stamp = String(Number.parseInt(sha256('${randomUUID()}' + name).slice(0, 8), 16) % 900_000 + 100_000)
const file = new URL(\`../stamps/\${name}\`, import.meta.url)
mkdirSync(new URL('.', file), { recursive: true })
writeFileSync(file, sha256(stamp))
await new Promise((resolve) => setTimeout(resolve, 200))
console.log(\`\\\`stamp \${name}\\\` is \\\`\${stamp}\\\`\`)
`,
  )
}
