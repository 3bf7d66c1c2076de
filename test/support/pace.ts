// How fast this machine is at this moment. A bound in seconds would fail wherever something else runs.

import { execFileSync } from 'node:child_process'

/** How long a program that does nothing takes now, in milliseconds; about 40 on a quiet machine. */
export function startMs(): number {
  const times = Array.from({ length: 5 }, () => {
    const begun = performance.now()
    execFileSync(process.execPath, ['-e', '0'])
    return performance.now() - begun
  })
  return times.sort((a, b) => a - b)[2]!
}
