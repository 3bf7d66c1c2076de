// `npm run soak`: thirty cycles with things going wrong, in about a quarter of an hour. Writes docs/soak.md.
// `npm run soak AGENT[:tmux] [FOLDER] [MODULES] [FROM]`: a night of that real agent, or the part from that cycle on, with a workspace on a small disk of its own. Prints a report.
// `npm run soak -- --store file|postgres|nats [--kills 1000]`: writers and servers of a store are killed. Prints what came of it.
import { join } from 'node:path'
import { alone, runBundled } from './bundle.mjs'
import { root } from './stamps.mjs'

const args = process.argv.slice(2)
if (args[0] === '--store') await runBundled([], join(root, 'test/soak/store.ts'), args)
const entry = join(root, 'test/soak', args.length === 0 ? 'soak.ts' : 'night.ts')
// Without a network, where the kernel allows that: real agents are to reach the scripted model only.
await runBundled(args.length === 0 ? alone : alone.map((word) => (word === '-rn' ? '-rnm' : word)), entry, args)
