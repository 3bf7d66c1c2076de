// Prints whether that process may work in the folder that this one works in: `looks PID`.

import { mayWorkIn } from '../../src/system/processes.ts'

process.stdout.write(String(mayWorkIn(Number(process.argv[2]), process.cwd())))
