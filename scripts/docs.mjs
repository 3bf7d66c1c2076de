// `npm run docs`: writes the pages of docs/reference, which are made from the code.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from './bundle.mjs'
import { root } from './stamps.mjs'

const file = await bundle(join(root, 'scripts/reference/pages.ts'))
try {
  const { write } = await import(file)
  write(join(root, 'docs/reference'))
} finally {
  rmSync(file, { force: true })
}
