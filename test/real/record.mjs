// Runs record.ts without a network, where the kernel allows that.
import { join } from 'node:path'
import { alone, runBundled } from '../../scripts/bundle.mjs'

if (alone.length === 0) console.error('this kernel gives no network of its own: the agents run with the one there is')
await runBundled(alone, join(import.meta.dirname, 'record.ts'), process.argv.slice(2))
