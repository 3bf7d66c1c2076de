// `npm run soak`: thirty cycles with things going wrong, in about a quarter of an hour. Writes docs/soak.md.
import { join } from 'node:path'
import { alone, runBundled } from './bundle.mjs'
import { root } from './stamps.mjs'

// Without a network, where the kernel allows that: the real agent among them is to reach the scripted model only.
await runBundled(alone, join(root, 'test/soak/soak.ts'), process.argv.slice(2))
